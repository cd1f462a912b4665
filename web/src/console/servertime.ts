// The server's clock, by which schedules are shown whatever this computer's clock says.

let offset = 0; // ms to add to performance.now()
let known = false;

/** sample sets the clock from an answer with the server's time; asked and answered are performance.now() around the call. */
export function sample(serverTime: number, asked: number, answered: number): void {
  offset = serverTime - (asked + answered) / 2;
  known = true;
}

/**
 * correct sets the clock from a time in a message, which is some time old, so only where the clocks are far apart: performance.now()
 * stands still while a laptop sleeps.
 */
export function correct(serverTime: number): void {
  if (!known || Math.abs(serverNow() - serverTime) > 1_500) sample(serverTime, performance.now(), performance.now());
}

/** serverNow is the server's time in Unix milliseconds; before the first sample it is this computer's. */
export function serverNow(): number {
  return known ? performance.now() + offset : Date.now();
}

/** toLocal is a time of the server's clock as this computer's clock shows it then, to 10 ms: the clocks are read no better. */
export function toLocal(serverTime: number): number {
  return Math.round((serverTime + Date.now() - serverNow()) / 10) * 10;
}

/** toServer is the server's time when this computer's clock shows a time. */
export function toServer(localTime: number): number {
  return localTime - (Date.now() - serverNow());
}
