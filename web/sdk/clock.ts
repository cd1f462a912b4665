// The server's clock, as seen from here. Everything that falls is placed by it, so that each player sees
// the same rain whatever their own clock says.

const KEEP = 12; // samples
const MAX_AGE = 120_000; // ms; quartz drifts by some 10 ms in that time
const SLACK = 25; // ms by which two samples may contradict each other: drift, and the server's nodes among themselves

interface Sample {
  /** Round trip, ms. */
  rtt: number;
  /** When the answer came, local time. */
  received: number;
  /** Server time minus local time; right to half the round trip. */
  offset: number;
}

/**
 * ServerClock estimates the server's time from round trips. Of the recent samples it believes the one with the lowest
 * round trip: the least of its time was spent waiting somewhere. A sample bounds the truth (offset ± rtt/2); one that
 * contradicts the newest was true before one of the clocks jumped (a machine that slept has a steady clock that stood
 * still), and is forgotten.
 */
export class ServerClock {
  #samples: Sample[] = [];
  #best: Sample | null = null;

  /** local is a steady clock in milliseconds; it never jumps as the wall clock may. */
  readonly local: () => number;

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
    const newest: Sample = { rtt, received, offset: serverTime + 0.5 - (sent + received) / 2 };
    this.#samples.push(newest);
    this.#samples = this.#samples
      .filter((s) => received - s.received <= MAX_AGE && Math.abs(s.offset - newest.offset) <= (s.rtt + rtt) / 2 + SLACK)
      .slice(-KEEP);
    this.#best = this.#samples.reduce((a, b) => (b.rtt <= a.rtt ? b : a));
  }

  /** doubts tells whether a time that the server has just told cannot be, by this clock: it runs behind. */
  doubts(serverTime: number): boolean {
    return this.#best !== null && serverTime > this.now() + this.#best.rtt / 2 + SLACK;
  }

  /** now is the server's time in Unix ms. Before the first sample it is the machine's own guess. */
  now(): number {
    return this.#best ? this.local() + this.#best.offset : Date.now();
  }
}
