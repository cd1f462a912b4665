// Confetti, dust and coins that fly from a burst. They are in arrays of fixed length: a frame makes no garbage, and
// many taps cannot make more of them. The position follows from the age; nothing is stepped.

import type { Brush } from "./brush.ts";
import type { Sprites } from "./sprites.ts";

const ROOM = 512;
const GRAVITY = 0.00042; // px per ms², for a packet of 66 px
const COIN = 255; // instead of a colour: a little coin

/** COLORS are the colours of particles; a burst names a range of them. */
const COLORS = ["#ffe9a6", "#ffc94d", "#ff8b4a", "#ff5a4d", "#fff6dc", "#8d93a6", "#6d7388", "#a9aebd", "#ffd964", "#ff8a3c", "#2b3146"] as const;

export type Stuff = "confetti" | "dust" | "fire";
const RANGE: Record<Stuff, readonly [number, number]> = { confetti: [0, 5], dust: [5, 3], fire: [8, 3] };

/** Particles holds all flying particles. */
export class Particles {
  readonly #x = new Float32Array(ROOM);
  readonly #y = new Float32Array(ROOM);
  readonly #vx = new Float32Array(ROOM);
  readonly #vy = new Float32Array(ROOM);
  readonly #size = new Float32Array(ROOM);
  readonly #spin = new Float32Array(ROOM);
  readonly #born = new Float64Array(ROOM);
  readonly #life = new Float32Array(ROOM);
  readonly #color = new Uint8Array(ROOM);
  #next = 0;
  #until = 0; // time at which the last of them is gone, ms

  /** count returns the number of particles at a time (ms of the page's clock). */
  count(now: number): number {
    let n = 0;
    for (let i = 0; i < ROOM; i++) if (this.#flies(i, now)) n++;
    return n;
  }

  busy(now: number): boolean {
    return now < this.#until;
  }

  /** burst throws n bits from a place. force 1 is that of a win. Only their directions and speeds are random. */
  burst(stuff: Stuff, n: number, x: number, y: number, now: number, force = 1): void {
    const [first, colors] = RANGE[stuff];
    for (let k = 0; k < n; k++) this.#throw(first + (k % colors), x, y, now, force);
  }

  /** coins throws n little coins. */
  coins(n: number, x: number, y: number, now: number): void {
    for (let k = 0; k < n; k++) this.#throw(COIN, x, y, now, 1);
  }

  draw(brush: Brush, sprites: Sprites, now: number): void {
    if (!this.busy(now)) return;
    const { c } = brush;
    const unit = sprites.width / 66;
    for (let i = 0; i < ROOM; i++) {
      if (!this.#flies(i, now)) continue;
      const age = now - (this.#born[i] ?? 0);
      const x = (this.#x[i] ?? 0) + (this.#vx[i] ?? 0) * age * unit;
      const y = (this.#y[i] ?? 0) + ((this.#vy[i] ?? 0) * age + GRAVITY * age * age) * unit;
      const turn = (this.#spin[i] ?? 0) * age;
      const color = this.#color[i] ?? 0;
      c.globalAlpha = 1 - age / (this.#life[i] ?? 1);
      if (color === COIN) {
        brush.stamp(sprites.coin, x, y, 0, 0.3 * Math.max(0.15, Math.abs(Math.cos(turn))), 0.3);
        continue;
      }
      const s = (this.#size[i] ?? 0) * sprites.width;
      brush.frame(x, y, turn, 1, 1);
      c.fillStyle = COLORS[color] ?? "#fff";
      c.fillRect(-s, -s * 0.6, 2 * s, 1.2 * s);
    }
    c.globalAlpha = 1;
  }

  #flies(i: number, now: number): boolean {
    return now - (this.#born[i] ?? 0) < (this.#life[i] ?? 0);
  }

  #throw(color: number, x: number, y: number, now: number, force: number): void {
    const i = this.#next;
    this.#next = (i + 1) % ROOM;
    const a = Math.random() * 2 * Math.PI;
    const v = (0.12 + Math.random() * 0.3) * force;
    const life = 500 + Math.random() * 700;
    this.#x[i] = x;
    this.#y[i] = y;
    this.#vx[i] = Math.cos(a) * v;
    this.#vy[i] = Math.sin(a) * v - 0.16 * force;
    this.#size[i] = 0.05 + Math.random() * 0.07;
    this.#spin[i] = (Math.random() - 0.5) * 0.02;
    this.#born[i] = now;
    this.#life[i] = life;
    this.#color[i] = color;
    this.#until = Math.max(this.#until, now + life);
  }
}
