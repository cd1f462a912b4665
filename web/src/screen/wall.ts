// The canvas of the wall: the rain of the phones, and more of it behind, so that a large screen is as full as a small
// one. All of it is a function of the server's time, so it goes on without a connection.

import type { Rain, WaveMessage } from "../../sdk/redrain.d.ts";
import { Brush } from "../rain/brush.ts";
import { Frames, type Pace } from "../rain/frames.ts";
import { type Place, Sky, type View, place, unit } from "../rain/sky.ts";
import { Sprites, context } from "../rain/sprites.ts";
import { Filler } from "./filler.ts";
import { confetti } from "./confetti.ts";

const VIRTUAL = 640; // units of the wall's shorter side: packets have a size for phones, so the wall is drawn as a large phone
const BEHIND = 0.6; // size of the background packets relative to the real ones
const MOST_PIXELS = 3840 * 2160;
const COARSER = 0.75; // of the pixels on each side, if the machine is too slow
const COARSEST = 0.5; // of the pixels of the screen
const CALM_EVERY = 30; // ms from frame to frame while only gold dust falls: half of the frames are enough

/** Weather is the content of the canvas. */
export interface Weather {
  /** the falling or the next rain */
  rain: Rain | null;
  /** paused: everything stands still in the dark */
  dim: boolean;
  /** between the rains: a calm sky with some gold */
  calm: boolean;
  /** confetti */
  party: boolean;
}

/** qualityAfter returns the canvas pixels per device pixel after a measurement of the frames: fewer on a slow machine. */
export function qualityAfter(pace: Pace, quality: number): number {
  return pace === "slow" ? Math.max(COARSEST, quality * COARSER) : quality;
}

/** Wall draws by the server's clock. */
export class Wall {
  readonly #canvas: HTMLCanvasElement;
  readonly #brush: Brush;
  readonly #now: () => number;
  readonly #sky = new Sky();
  readonly #filler = new Filler();
  readonly #frames = new Frames();
  readonly #motion = matchMedia("(prefers-reduced-motion: reduce)");
  readonly #observer = new ResizeObserver(() => this.#fit());
  readonly #at: Place = { x: 0, y: 0, w: 0, h: 0, angle: 0 };
  #weather: Weather = { rain: null, dim: false, calm: true, party: false };
  #view: View = { width: 1, height: 1, top: 0 }; // in virtual units
  #far: View = { width: 1, height: 1, top: 0 };
  #scale = 1; // CSS pixels per virtual unit
  #quality = 1; // canvas pixels per device pixel that this machine can draw in time
  #fine = 1; // canvas pixels per device pixel that are drawn
  #sprites = new Sprites(1, 1);
  #frame = 0;
  #warming = 0;
  #drawn = 0;

  /** @param now the server's time, Unix ms */
  constructor(canvas: HTMLCanvasElement, now: () => number) {
    this.#canvas = canvas;
    this.#brush = new Brush(context(canvas));
    this.#now = now;
    this.#observer.observe(canvas);
    this.#fit();
    this.#frame = requestAnimationFrame((at) => this.#loop(at));
  }

  /** add takes the drops of the next wave. */
  add(m: WaveMessage): void {
    this.#sky.add(m);
  }

  set weather(weather: Weather) {
    this.#weather = weather;
  }

  dispose(): void {
    this.#observer.disconnect();
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#warming);
  }

  #fit(): void {
    const { clientWidth: w, clientHeight: h } = this.#canvas;
    if (!w || !h) return;
    this.#scale = Math.min(w, h) / VIRTUAL;
    this.#view = { width: w / this.#scale, height: h / this.#scale, top: 0 };
    this.#far = { width: this.#view.width / BEHIND, height: this.#view.height / BEHIND, top: 0 };
    const device = Math.min(devicePixelRatio || 1, Math.sqrt(MOST_PIXELS / (w * h)));
    this.#canvas.width = Math.round(w * device * this.#fine);
    this.#canvas.height = Math.round(h * device * this.#fine);
    this.#brush.ratio = (this.#scale * this.#canvas.width) / w;
    const ratio = this.#scale * device;
    if (Math.abs(this.#sprites.ratio - ratio) > 0.01) {
      this.#sprites = new Sprites(unit(this.#view), ratio);
      this.#warm();
    }
  }

  // warm paints the pictures one at a time, before the first packet falls.
  #warm(): void {
    clearTimeout(this.#warming);
    this.#warming = setTimeout(() => this.#sprites.warm() && this.#warm(), 30);
  }

  #loop(at: number): void {
    this.#frame = requestAnimationFrame((next) => this.#loop(next));
    const { rain, calm, party } = this.#weather;
    if (calm && !party && at - this.#drawn < CALM_EVERY) return;
    this.#drawn = at;
    const quality = rain ? qualityAfter(this.#frames.begin(at), this.#quality) : this.#quality;
    const fine = calm && !party ? Math.min(quality, COARSEST) : quality; // gold dust in a haze needs a quarter of the work
    if (quality !== this.#quality || fine !== this.#fine) {
      [this.#quality, this.#fine] = [quality, fine];
      this.#fit();
    }
    this.#draw(this.#now());
  }

  #draw(t: number): void {
    const { c } = this.#brush;
    const { rain, dim, calm, party } = this.#weather;
    const still = this.#motion.matches;
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
    if (rain) this.#filler.rain(rain, t);
    else if (calm && !still) this.#filler.calm(t);
    else this.#filler.clear();
    if (calm && this.#sky.rain !== null) this.#sky.clear(); // not in the countdown: the first wave comes ahead of its time
    c.globalAlpha = dim ? 0.25 : calm ? 0.34 : 1;
    this.#drops(this.#filler.sky, t, this.#far, BEHIND, still);
    c.globalAlpha = dim ? 0.35 : 1;
    this.#drops(this.#sky, t, this.#view, 1, still);
    c.globalAlpha = 1;
    if (party && !still) confetti(this.#brush, this.#view, t);
  }

  #drops(sky: Sky, t: number, view: View, size: number, still: boolean): void {
    sky.prune(t);
    const ratio = this.#brush.ratio;
    this.#brush.ratio = ratio * size;
    for (const drop of sky.drops) {
      const at = place(drop, t, view, still, this.#at);
      if (at) this.#brush.stamp(this.#weather.calm && drop.k === 0 ? this.#sprites.coin : this.#sprites.of(drop), at.x, at.y, at.angle);
    }
    this.#brush.ratio = ratio;
  }
}
