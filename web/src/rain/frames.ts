// How long the frames take: for the overlay of support, for the tests, and to spare a slow device some of its pixels.

const KEPT = 240; // frames
const SLOW = 26; // ms from frame to frame on average: less than 40 of them in a second
const PATIENCE = 45; // frames that are looked at before anything is changed
const AWAY = 250; // ms; a longer pause was not a slow frame but a hidden tab

/** Frames measures a loop. */
export class Frames {
  count = 0;
  readonly #spent = new Float32Array(KEPT);
  #last = 0;
  #sum = 0;
  #n = 0;

  /** begin is called with the time of each frame; it says whether the last ones were too slow. */
  begin(now: number): boolean {
    const gap = now - this.#last;
    this.#last = now;
    if (gap > AWAY) return false;
    this.#sum += gap;
    if (++this.#n < PATIENCE) return false;
    const slow = this.#sum / this.#n > SLOW;
    this.#sum = this.#n = 0;
    return slow;
  }

  /** end notes the ms that the frame has spent in script. */
  end(spent: number): void {
    this.#spent[this.count++ % KEPT] = spent;
  }

  /** p95 of the script's ms in the last frames. */
  p95(): number {
    const all = this.#spent.slice(0, Math.min(this.count, KEPT)).sort();
    return all[Math.min(all.length - 1, Math.floor(all.length * 0.95))] ?? 0;
  }
}
