// Keeps a wall in order through an evening: it stays awake, hides the pointer, and avoids burn-in.

const POINTER = 3_000; // ms without a move after which the pointer is hidden
const NUDGE = 40_000; // ms between two small moves of the whole picture
const REACH = 0.45; // rem of the largest move to each side

/** Keeper looks after the page from start to stop. */
export class Keeper {
  readonly #page: HTMLElement;
  readonly #stop = new AbortController();
  #lock: WakeLockSentinel | null = null;
  #pointer = 0;
  #nudge = 0;
  #moves = 0;

  /** @param page the element that is moved, and that has the class "idle" while the pointer is hidden */
  constructor(page: HTMLElement) {
    this.#page = page;
  }

  start(): void {
    const { signal } = this.#stop;
    document.addEventListener("visibilitychange", () => void this.#wake(), { signal });
    document.addEventListener("pointermove", () => this.#moved(), { signal });
    this.#nudge = setInterval(() => this.#move(), NUDGE);
    this.#moved();
    void this.#wake();
  }

  stop(): void {
    this.#stop.abort();
    clearInterval(this.#nudge);
    clearTimeout(this.#pointer);
    void this.#lock?.release();
  }

  // wake keeps the screen on. The browser releases the lock when the page is hidden, and grants it only over https.
  // Without https the hall must configure its machine.
  async #wake(): Promise<void> {
    if (document.hidden || !("wakeLock" in navigator)) return;
    try {
      this.#lock = await navigator.wakeLock.request("screen");
      if (this.#stop.signal.aborted) await this.#lock.release();
    } catch {
      // Refused, for example because the battery is low. It is requested again when the page is next shown.
    }
  }

  #moved(): void {
    clearTimeout(this.#pointer);
    this.#page.classList.remove("idle");
    this.#pointer = setTimeout(() => this.#page.classList.add("idle"), POINTER);
  }

  // move shifts the picture along a long closed curve.
  #move(): void {
    this.#moves++;
    this.#page.style.setProperty("--dx", `${(REACH * Math.sin(this.#moves * 1.1)).toFixed(3)}rem`);
    this.#page.style.setProperty("--dy", `${(REACH * Math.cos(this.#moves * 0.7)).toFixed(3)}rem`);
  }
}
