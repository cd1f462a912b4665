// The pictures of the falling things, painted once per size and then only copied.

import { bomb } from "./decoy.ts";
import { TINTS_OF, coin, envelope, opened } from "./paint.ts";
import { type Prize, fortune, golden } from "./prize.ts";
import { type Drop, RATIO, layerScale } from "./sky.ts";

const MARGIN = 0.13; // of the width, on each side: room for the shadow. Each pixel of it costs time in each frame
const FLAP = 0.25; // the same for an open packet: its flap stands above it
const SHADE = "rgb(70 6 26 / 0.34)"; // the haze before the far ones
const TURN = 0.04; // radians between two turned pictures
const TURNS = 32; // room for them, around 0
const SOFT = 0.72; // of the pixels, for the far ones: enlarged, they are a little out of focus

/** Picture is a painted canvas and its size in CSS pixels. The drawing is in its middle. */
export interface Picture {
  readonly image: HTMLCanvasElement;
  readonly w: number;
  readonly h: number;
}

/**
 * Sprites are the pictures for one width (px, of a drop of scale 1) and one pixel ratio. Each is painted when first
 * used.
 */
export class Sprites {
  readonly width: number;
  readonly ratio: number;
  readonly #made: (Picture | undefined)[] = [];
  #turned: (HTMLCanvasElement | undefined)[] = []; // for a canvas of #scale device pixels in a CSS pixel
  #scale = 0;

  constructor(width: number, ratio: number) {
    this.width = width;
    this.ratio = ratio;
  }

  /** of returns the picture of a drop. */
  of(drop: Drop): Picture {
    return drop.decoy ? this.decoy(drop.depth) : this.packet(drop.depth, drop.tint);
  }

  packet(depth: number, tint: number): Picture {
    return (this.#made[depth * 4 + tint] ??= this.#paint(depth, (c, w, h) => envelope(c, w, h, tintOf(tint))));
  }

  decoy(depth: number): Picture {
    return (this.#made[depth * 4 + 3] ??= this.#paint(depth, bomb));
  }

  /**
   * turned returns the picture of a drop at nearly the angle, in the pixels of a canvas with this ratio. Where the
   * processor draws, turning and scaling takes ten times as long as copying.
   */
  turned(drop: Drop, angle: number, ratio: number): HTMLCanvasElement {
    if (ratio !== this.#scale) [this.#scale, this.#turned] = [ratio, []];
    const step = Math.round(angle / TURN);
    const kind = drop.depth * 4 + (drop.decoy ? 3 : drop.tint);
    return (this.#turned[kind * TURNS + TURNS / 2 + step] ??= turn(this.of(drop), step * TURN, ratio));
  }

  /** open is the picture of a tapped packet, its flap up. */
  open(tint: number): Picture {
    return (this.#made[16 + tint] ??= this.#paint(1, (c, w, h) => opened(c, w, h, tintOf(tint)), FLAP));
  }

  /** prize is the picture of a kind of content; null for a plain one. */
  prize(of: Prize): Picture | null {
    if (of === "plain") return null;
    return of === "gold" ? (this.#made[19] ??= this.#paint(1, golden)) : (this.#made[20] ??= this.#paint(1, fortune, FLAP));
  }

  get coin(): Picture {
    return (this.#made[12] ??= this.#paint(1, (c, w, h) => coin(c, w / 2, h / 2, w * 0.42)));
  }

  /** warm paints one missing picture, and reports whether there was one. So no frame of a rain has to wait for it. */
  warm(): boolean {
    for (let i = 0; i < 21; i++) {
      if (this.#made[i] || (i > 12 && i < 16)) continue;
      if (i === 12) void this.coin;
      else if (i > 18) this.prize(i === 19 ? "gold" : "fortune");
      else if (i > 12) this.open(i - 16);
      else if (i % 4 === 3) this.decoy(i >> 2);
      else this.packet(i >> 2, i % 4);
      return true;
    }
    return false;
  }

  #paint(depth: number, draw: (c: CanvasRenderingContext2D, w: number, h: number) => void, margin = MARGIN): Picture {
    const w = this.width * layerScale(depth);
    const h = w * RATIO;
    const m = w * margin;
    const ratio = this.ratio * (depth === 0 ? SOFT : 1);
    const image = document.createElement("canvas");
    image.width = Math.ceil((w + 2 * m) * ratio);
    image.height = Math.ceil((h + 2 * m) * ratio);
    const c = context(image);
    c.scale(ratio, ratio);
    c.translate(m, m);
    draw(c, w, h);
    if (depth === 0) {
      c.globalCompositeOperation = "source-atop";
      c.fillStyle = SHADE;
      c.fillRect(-m, -m, w + 2 * m, h + 2 * m);
    }
    return { image, w: w + 2 * m, h: h + 2 * m };
  }
}

function turn({ image, w, h }: Picture, angle: number, ratio: number): HTMLCanvasElement {
  const [cos, sin] = [Math.cos(angle), Math.abs(Math.sin(angle))];
  const turned = document.createElement("canvas");
  turned.width = Math.ceil((w * cos + h * sin) * ratio);
  turned.height = Math.ceil((h * cos + w * sin) * ratio);
  const c = context(turned);
  c.translate(turned.width / 2, turned.height / 2);
  c.rotate(angle);
  c.scale(ratio, ratio);
  c.imageSmoothingQuality = "high";
  c.drawImage(image, -w / 2, -h / 2, w, h);
  return turned;
}

function tintOf(i: number): (typeof TINTS_OF)[number] {
  const tint = TINTS_OF[i % TINTS_OF.length];
  if (!tint) throw new Error(`no envelope has the tint ${i}`);
  return tint;
}

/** context returns a canvas's 2D context, which every supported browser has. */
export function context(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const c = canvas.getContext("2d");
  if (!c) throw new Error("this browser has no 2D canvas");
  return c;
}
