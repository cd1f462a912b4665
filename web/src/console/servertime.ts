// The server's clock. Schedules are shown by it, not by this computer's clock.

let offset = 0; // ms to add to performance.now()
let known = false;

/** sample sets the clock from an answer with the server's time; asked and answered are performance.now() around the call. */
export function sample(serverTime: number, asked: number, answered: number): void {
  offset = serverTime - (asked + answered) / 2;
  known = true;
}

/**
 * correct sets the clock from a time in a message. That time is a little old, so it counts only if the clocks are far
 * apart: performance.now() stands still while a laptop sleeps.
 */
export function correct(serverTime: number): void {
  if (!known || Math.abs(serverNow() - serverTime) > 1_500) sample(serverTime, performance.now(), performance.now());
}

/** serverNow is the server's time in Unix milliseconds; before the first sample it is this computer's. */
export function serverNow(): number {
  return known ? performance.now() + offset : Date.now();
}

/** toLocal converts a time of the server's clock to this computer's, to 10 ms: the clocks are not more exact. */
export function toLocal(serverTime: number): number {
  return Math.round((serverTime + Date.now() - serverNow()) / 10) * 10;
}

/** toServer converts a time of this computer's clock to the server's. */
export function toServer(localTime: number): number {
  return localTime - (Date.now() - serverNow());
}
