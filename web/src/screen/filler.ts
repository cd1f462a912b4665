// The extra packets on the wall: it has no taps, so it can show more than the rain. The packets follow from the time,
// so that every wall of an event shows the same, and a new one is not empty.

import type { Rain } from "../../sdk/redrain.d.ts";
import { Sky } from "../rain/sky.ts";

const RAIN_EVERY = 180; // ms between two packets behind a rain
const RAIN_FALL = 5_200; // ms
const CALM_EVERY = 1_500; // ms between two pieces of a calm sky
const CALM_FALL = 24_000; // ms
const CALM_ANEW = 3_600_000; // ms after which landed packets are dropped
const GOLDEN = 0.6180339887; // each next multiple is in the widest gap between the others

/** Filler holds the packets in the air. */
export class Filler {
  readonly sky = new Sky();
  #next = 0; // number of the piece that appears next

  /** rain fills the sky behind a rain. */
  rain(rain: Rain, t: number): void {
    this.#fill(`rain ${rain.id}`, rain.starts_at, rain.starts_at + rain.duration_ms, RAIN_EVERY, RAIN_FALL, t);
  }

  /** calm lets a little gold drift down. */
  calm(t: number): void {
    this.#fill(`calm ${Math.floor(t / CALM_ANEW)}`, 0, Infinity, CALM_EVERY, CALM_FALL, t);
  }

  clear(): void {
    if (this.sky.drops.length > 0) this.sky.clear();
    this.#next = 0;
  }

  // fill adds the packets that have appeared since the last call, each with its number since `from`.
  #fill(name: string, from: number, until: number, every: number, fall: number, t: number): void {
    const oldest = Math.max(0, Math.ceil((t - fall - from) / every));
    const newest = Math.floor((Math.min(t, until) - from) / every);
    if (this.sky.rain !== name || this.#next > newest + 1) {
      this.sky.clear(name); // another rain, or the clock was set back
      this.#next = oldest;
    }
    for (let n = Math.max(this.#next, oldest); n <= newest; n++) {
      const x = Math.round(1000 * ((n * GOLDEN) % 1));
      // The fall differs, so that no row of packets comes down side by side.
      this.sky.add({ rain: name, n, at: from + n * every, drops: [{ id: `${n}.${n % 2}`, x, kind: "packet", fall_ms: fall * (0.8 + 0.2 * ((n * 0.37) % 1)) }] });
      this.#next = n + 1;
    }
  }
}
