// The duration of frames: for support's overlay, for the tests, and to choose the number of pixels that a device can
// draw.

const KEPT = 240; // frames
const WINDOW = 600; // ms of frames that are measured before a change
const FEW = 4; // frames that a window needs
const AWAY = 1_000; // ms; a longer pause was not a slow frame but a hidden tab
const QUICK = 19; // ms from frame to frame on average
const SLOW = 24;
const SAVING = [32, 35] as const; // ms from frame to frame on a device that allows only 30 in a second, to save its battery

/** Pace is the measured pace of the last frames. */
export type Pace = "quick" | "slow" | null;

/** Frames measures a loop. */
export class Frames {
  count = 0;
  readonly #spent = new Float32Array(KEPT);
  #last = 0;
  #sum = 0;
  #n = 0;

  /** begin is called with the time of each frame (ms). At the end of each window it returns the pace. */
  begin(now: number): Pace {
    const gap = now - this.#last;
    this.#last = now;
    if (gap > AWAY) return null;
    this.#sum += gap;
    if (++this.#n < FEW || this.#sum < WINDOW) return null;
    const mean = this.#sum / this.#n;
    this.#sum = this.#n = 0;
    if (mean < QUICK) return "quick";
    return mean > SLOW && !(mean > SAVING[0] && mean < SAVING[1]) ? "slow" : null;
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
