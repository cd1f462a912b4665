// Rates per second, computed from counters.

/** WINDOW is the time, in ms, over which a rate is taken: nodes report once a second, each at its own moment. */
const WINDOW = 3_000;
/** LEAST is the least time between two counts. */
const LEAST = 500;

type Counts = Readonly<Record<string, number>>;

/** Rates keeps the counts of the last seconds. */
export class Rates {
  #past: { at: number; counts: Counts }[] = [];

  /**
   * push takes the counts of a moment (ms), and returns their rates. A rate is null at first, after a gap, and after a
   * server's restart.
   */
  push(at: number, counts: Counts): (name: string) => number | null {
    const last = this.#past.at(-1);
    if (last && at - last.at > WINDOW) this.#past = [];
    while ((this.#past[1]?.at ?? at) <= at - WINDOW) this.#past.shift();
    const before = this.#past[0];
    this.#past.push({ at, counts });
    return (name) => {
      const [now, then] = [counts[name], before?.counts[name]];
      if (!before || now === undefined || then === undefined || now < then || at - before.at < LEAST) return null;
      return (1_000 * (now - then)) / (at - before.at);
    };
  }
}
