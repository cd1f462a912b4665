// Coins that fly from a packet to the purse. The position of a coin follows from its age. They are in arrays of fixed
// length, like particles.

import type { Brush } from "./brush.ts";
import type { Sprites } from "./sprites.ts";

const ROOM = 64;
const LASTS = 620; // flight time of a coin, ms
const EACH = 45; // ms between two coins of one win
const COINS = 6; // of one win
const SIZE = 0.34; // size relative to a packet's coin

/** ARRIVES is the time in ms from a win until its first coin is in the purse. */
export const ARRIVES = LASTS;

/** Spot is a point of the canvas, CSS px. */
export interface Spot {
  x: number;
  y: number;
}

/** Flight holds the flying coins. Times are ms of the page's steady clock. */
export class Flight {
  readonly #from = new Float32Array(2 * ROOM);
  readonly #to = new Float32Array(2 * ROOM);
  readonly #bend = new Float32Array(ROOM); // px to the side in the middle of the way
  readonly #born = new Float64Array(ROOM).fill(-LASTS);
  #next = 0;
  #until = 0;

  busy(now: number): boolean {
    return now < this.#until;
  }

  /** send lets the coins of one win leave. */
  send(from: Spot, to: Spot, now: number): void {
    for (let k = 0; k < COINS; k++) {
      const i = this.#next;
      this.#next = (i + 1) % ROOM;
      this.#from.set([from.x, from.y], 2 * i);
      this.#to.set([to.x, to.y], 2 * i);
      this.#bend[i] = (k % 2 ? 1 : -1) * (18 + 14 * k);
      this.#born[i] = now + k * EACH;
    }
    this.#until = now + LASTS + COINS * EACH;
  }

  draw(brush: Brush, sprites: Sprites, now: number): void {
    if (!this.busy(now)) return;
    for (let i = 0; i < ROOM; i++) {
      const p = (now - (this.#born[i] ?? 0)) / LASTS;
      if (!(p >= 0 && p < 1)) continue;
      const eased = p * p * (3 - 2 * p);
      const [x0, y0] = [this.#from[2 * i] ?? 0, this.#from[2 * i + 1] ?? 0];
      const [x1, y1] = [this.#to[2 * i] ?? 0, this.#to[2 * i + 1] ?? 0];
      const side = (this.#bend[i] ?? 0) * Math.sin(p * Math.PI);
      const size = SIZE * (1 - 0.35 * p);
      brush.stamp(sprites.coin, x0 + (x1 - x0) * eased + side, y0 + (y1 - y0) * eased, 0, size * Math.max(0.2, Math.abs(Math.cos(p * 9))), size);
    }
  }
}
