// The canvas on which it rains: size, pictures and the loop. It runs only while there is something to see.

import { Effects } from "./effects.js";
import { Sky, place, unit } from "./sky.js";
import { Sprites, stamp } from "./sprites.js";

const MAX_RATIO = 2; // more pixels than that cost time and are not seen in motion

// Scene draws a Sky by the server's clock.
export class Scene {
  sky = new Sky();
  effects = new Effects();
  view = { width: 1, height: 1, top: 0 }; // px; top is covered by the page's head
  dim = false; // paused: the packets stand in the dark
  #canvas;
  #c;
  #clock;
  #sprites = null;
  #frame = 0;
  #motion = matchMedia("(prefers-reduced-motion: reduce)");

  constructor(canvas, clock) {
    this.#canvas = canvas;
    this.#c = canvas.getContext("2d");
    this.#clock = clock;
    new ResizeObserver(() => this.#fit()).observe(canvas);
    this.#fit();
  }

  // still: the person has asked the system for less motion.
  get still() {
    return this.#motion.matches;
  }

  get sprites() {
    return this.#sprites;
  }

  // wake starts the loop when something is there to draw.
  wake() {
    if (!this.#frame) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  // clear takes everything away that falls; what the taps have shown may end in peace.
  clear() {
    this.sky.clear();
    this.wake();
  }

  #fit() {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    if (!width || !height) return;
    const ratio = Math.min(MAX_RATIO, devicePixelRatio || 1);
    this.#canvas.width = Math.round(width * ratio);
    this.#canvas.height = Math.round(height * ratio);
    this.#c.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.view = { ...this.view, width, height };
    const size = Math.round(unit(this.view));
    if (this.#sprites?.width !== size || this.#sprites.ratio !== ratio) this.#sprites = new Sprites(size, ratio);
    this.wake();
  }

  #draw() {
    this.#frame = 0;
    const [c, t, { width, height }] = [this.#c, this.#clock.now(), this.view];
    c.clearRect(0, 0, width, height);
    this.sky.prune(t);
    const alpha = this.dim ? 0.35 : 1;
    for (const drop of this.sky.drops) {
      if (drop.at > t) break; // sorted by their time
      const at = drop.tapped ? null : place(drop, t, this.view, this.still);
      if (at) stamp(c, this.#sprites.of(drop), at, alpha);
    }
    this.effects.draw(c, this.#sprites, performance.now(), this.view, this.still);
    if (this.sky.drops.length || this.effects.size) this.wake();
  }
}
