// The screen stays on while the player waits for a rain, if the phone supports it.

/** Awake holds the phone's lock while it is wanted and the page is seen. */
export class Awake {
  #wanted = false;
  #lock: WakeLockSentinel | null = null;
  #asking = false;

  constructor() {
    document.addEventListener("visibilitychange", () => void this.#hold()); // a hidden page loses the lock
  }

  want(on: boolean): void {
    if (on === this.#wanted) return;
    this.#wanted = on;
    void this.#hold();
  }

  async #hold(): Promise<void> {
    if (!("wakeLock" in navigator) || this.#asking) return;
    this.#asking = true;
    try {
      if (!this.#wanted) {
        await this.#lock?.release();
        this.#lock = null;
      } else if (!document.hidden && (!this.#lock || this.#lock.released)) {
        this.#lock = await navigator.wakeLock.request("screen");
      }
    } catch {
      this.#lock = null; // the battery is low, or the browser refuses: the game goes on
    } finally {
      this.#asking = false;
    }
    if (this.#wanted !== (this.#lock !== null) && !this.#wanted) void this.#hold(); // it was released meanwhile
  }
}
