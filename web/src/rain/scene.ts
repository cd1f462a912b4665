// The canvas of the rain: size, pictures and the loop. The loop runs only while there is something to draw.

import { Brush } from "./brush.ts";
import { Effects, type Said } from "./effects.ts";
import { Frames, type Pace } from "./frames.ts";
import { rounded } from "./rounded.ts";
import { type Drop, type Hit, type Place, Sky, type View, place, unit } from "./sky.ts";
import { Sprites, context } from "./sprites.ts";

const MAX_RATIO = 2; // more pixels cost time and are not seen in motion
const FIRST_RATIO = 1.5; // until the device has proved to be faster
const MIN_RATIO = 1;
const STEP = 0.5;

/** Clock returns the server's time, Unix ms. */
export interface Clock {
  now(): number;
}

/** Scene draws a Sky by the server's clock. */
export class Scene {
  readonly sky = new Sky();
  readonly effects = new Effects();
  readonly frames = new Frames();
  /** px; `top` is covered by the page's head */
  view: View = { width: 1, height: 1, top: 0 };
  /** paused: the packets stand in the dark */
  dim = false;
  /** the drop with the keyboard's ring */
  focus: Drop | null = null;
  readonly #canvas: HTMLCanvasElement;
  readonly #brush: Brush;
  readonly #clock: Clock;
  readonly #motion = matchMedia("(prefers-reduced-motion: reduce)");
  readonly #observer = new ResizeObserver(() => this.#fit());
  readonly #at: Place = { x: 0, y: 0, w: 0, h: 0, angle: 0 };
  #sprites: Sprites;
  #most = FIRST_RATIO; // the ratio that this device can keep up with
  #slow = false; // it was too slow once: a higher ratio is not tried again, and the packets are copied from turned pictures
  #frame = 0;
  #warming = 0;

  constructor(canvas: HTMLCanvasElement, clock: Clock) {
    this.#canvas = canvas;
    this.#brush = new Brush(context(canvas));
    this.#clock = clock;
    this.#sprites = new Sprites(unit(this.view), 1);
    this.#observer.observe(canvas);
    this.#fit();
  }

  /** still: the player's system asks for less motion. */
  get still(): boolean {
    return this.#motion.matches;
  }

  get sprites(): Sprites {
    return this.#sprites;
  }

  /** ratio is the number of device pixels in a CSS pixel. It falls if a device is too slow. */
  get ratio(): number {
    return this.#brush.ratio;
  }

  /** wake starts the loop if there is something to draw. */
  wake(): void {
    this.#frame ||= requestAnimationFrame((now) => this.#draw(now));
  }

  /** clear removes everything that falls. Effects of taps play to their end. */
  clear(): void {
    this.sky.clear();
    this.focus = null;
    this.wake();
  }

  /** burst shows at once that a drop was hit, before its content is known. */
  burst({ drop, at }: Hit): void {
    drop.tapped = true;
    this.effects.pending(drop, at, this.#sprites, performance.now(), this.still);
    this.wake();
  }

  /** tell shows the server's answer to a tap. */
  tell(drop: string, said: Said): void {
    this.effects.outcome(drop, said, this.#sprites, performance.now(), this.view, this.still);
    this.wake();
  }

  /**
   * cheer throws confetti and coins from a place, the given number of times. It does nothing if less motion is wanted.
   */
  cheer(times: number, x = this.view.width / 2, y = this.view.height * 0.42): void {
    if (this.still) return;
    const now = performance.now();
    this.effects.particles.burst("confetti", 34 * times, x, y, now, 1.3);
    this.effects.particles.coins(8 * times, x, y, now);
    this.wake();
  }

  /** dispose ends the loop and releases the canvas. */
  dispose(): void {
    this.#observer.disconnect();
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#warming);
    this.#frame = 0;
  }

  #fit(): void {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    if (!width || !height) return;
    this.view = { ...this.view, width, height };
    this.#scale();
    const size = Math.round(unit(this.view));
    const ratio = Math.min(MAX_RATIO, devicePixelRatio || 1);
    if (this.#sprites.width !== size || this.#sprites.ratio !== ratio) {
      this.#sprites = new Sprites(size, ratio);
      this.#warm();
    }
    this.wake();
  }

  // warm paints the pictures one at a time, so that there is no long task.
  #warm(): void {
    clearTimeout(this.#warming);
    this.#warming = setTimeout(() => this.#sprites.warm() && this.#warm(), 16);
  }

  #scale(): void {
    const ratio = Math.min(this.#most, devicePixelRatio || 1);
    this.#canvas.width = Math.round(this.view.width * ratio);
    this.#canvas.height = Math.round(this.view.height * ratio);
    this.#brush.ratio = ratio;
  }

  #draw(stamp: number): void {
    const began = performance.now();
    this.#frame = 0;
    this.#adapt(this.frames.begin(stamp));
    const t = this.#clock.now();
    const { c } = this.#brush;
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
    this.effects.jolt(this.#brush, began);
    this.sky.prune(t);
    this.effects.under(this.#brush, this.#sprites, began, this.view, this.still);
    this.#drops(t);
    this.effects.over(this.#brush, this.#sprites, began, this.view, this.still);
    this.frames.end(performance.now() - began);
    if (this.sky.drops.length || this.effects.busy(began)) this.wake();
  }

  #adapt(pace: Pace): void {
    if (pace === "slow" && (this.#brush.ratio > MIN_RATIO || !this.#slow)) {
      this.#slow = true;
      this.#most = Math.max(MIN_RATIO, this.#brush.ratio - STEP);
    } else if (pace === "quick" && !this.#slow && this.#most < MAX_RATIO) {
      this.#most += STEP;
    } else {
      return;
    }
    this.#scale();
  }

  #drops(t: number): void {
    const { c } = this.#brush;
    c.globalAlpha = this.dim ? 0.35 : 1;
    const still = this.still;
    for (const drop of this.sky.drops) {
      const at = drop.tapped ? null : place(drop, t, this.view, still, this.#at);
      if (!at) continue;
      if (this.#slow) this.#brush.copy(this.#sprites.turned(drop, at.angle, this.ratio), at.x, at.y);
      else this.#brush.stamp(this.#sprites.of(drop), at.x, at.y, at.angle);
      if (drop === this.focus) this.#ring(at);
    }
    c.globalAlpha = 1;
  }

  // ring marks the drop of the keyboard with two lines, so that it is visible on bright and on dark.
  #ring(at: Place): void {
    const { c } = this.#brush;
    const [w, h] = [at.w + 16, at.h + 16];
    this.#brush.frame(at.x, at.y, at.angle, 1, 1);
    for (const [color, width] of RING) {
      c.strokeStyle = color;
      c.lineWidth = width;
      c.beginPath();
      rounded(c, -w / 2, -h / 2, w, h, 14);
      c.stroke();
    }
  }
}

const RING = [["#2a0817", 9], ["#ffffff", 5]] as const;
