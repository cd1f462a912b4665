// Timers with one owner, who can stop them all.

/** Timers are the timeouts of one connection or one wait. */
export class Timers {
  #running = new Set<ReturnType<typeof setTimeout>>();

  /** after calls fn once, in ms. */
  after(ms: number, fn: () => void): void {
    const timer = setTimeout(() => {
      this.#running.delete(timer);
      fn();
    }, ms);
    this.#running.add(timer);
  }

  /** every calls fn each `ms`, the first time after as long. */
  every(ms: number, fn: () => void): void {
    this.after(ms, () => {
      this.every(ms, fn);
      fn(); // last: it may clear
    });
  }

  /** clear stops all of them. */
  clear(): void {
    for (const timer of this.#running) clearTimeout(timer);
    this.#running.clear();
  }
}
