// The server's clock, as seen from here. Everything that falls is placed by it, so that each player sees
// the same rain whatever their own clock says.

const DRIFT = 1e-4; // by which two clocks may run apart, for each ms: twice what cheap quartz does
const SLACK = 25; // ms by which the server's nodes may differ among themselves
const SMOOTH = 400; // ms in which a correction is taken up, so that nothing that falls is seen to hop
const STEP = 200; // ms from which on a correction is taken at once; below SMOOTH, so that the time never runs backwards

/** Sample is the result of one round trip. */
interface Sample {
  /** Round trip, ms. */
  rtt: number;
  /** When the answer came, local time. */
  received: number;
  /** Server time minus local time; right to half the round trip. */
  offset: number;
}

/**
 * ServerClock estimates the server's time from round trips. It uses the sample with the smallest error: half the round
 * trip, plus the possible drift since. If a new sample contradicts it, one of the clocks has jumped (the steady clock
 * of a sleeping machine stands still), and the new sample is used at once.
 */
export class ServerClock {
  /** local is a steady clock in milliseconds; it never jumps as the wall clock may. */
  readonly local: () => number;
  #best: Sample | null = null;
  #rest = 0; // ms of a correction that were not taken up yet when it came
  #since = 0; // local time when it came

  constructor(local: () => number) {
    this.local = local;
  }

  get synced(): boolean {
    return this.#best !== null;
  }

  /** rtt is the round trip of the sample in use, in ms. */
  get rtt(): number {
    return this.#best?.rtt ?? Infinity;
  }

  /**
   * sample adds what one request has shown: when it left and when its answer came (local times), and what the server's
   * clock read in between (Unix ms, cut to whole ones: hence the half).
   */
  sample(sent: number, received: number, serverTime: number): void {
    const rtt = Math.max(0, received - sent);
    const offset = serverTime + 0.5 - (sent + received) / 2;
    const before = this.#best;
    if (before) {
      const bound = this.#bound(before, received);
      if (rtt / 2 > bound && Math.abs(offset - before.offset) <= bound + rtt / 2 + SLACK) return;
      const rest = this.#offset(before, received) - offset;
      this.#rest = Math.abs(rest) < STEP ? rest : 0;
      this.#since = received;
    }
    this.#best = { rtt, received, offset };
  }

  /** doubts reports whether this clock runs behind a time that the server has just sent. */
  doubts(serverTime: number): boolean {
    const [best, local] = [this.#best, this.local()];
    return best !== null && serverTime > local + best.offset + this.#bound(best, local) + SLACK;
  }

  /** now is the server's time in Unix ms. Before the first sample it is the machine's own guess. */
  now(): number {
    const local = this.local();
    return this.#best ? local + this.#offset(this.#best, local) : Date.now();
  }

  /** bound returns the largest error of a sample at a local time, in ms. */
  #bound(s: Sample, local: number): number {
    return s.rtt / 2 + Math.max(0, local - s.received) * DRIFT;
  }

  /** offset is added to the local time: the sample's offset, and the rest of the correction. */
  #offset(s: Sample, local: number): number {
    return s.offset + this.#rest * Math.max(0, 1 - (local - this.#since) / SMOOTH);
  }
}
