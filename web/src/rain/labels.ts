// The words of an outcome, drawn once as a picture: measuring and shadows are too slow for each frame.

import { rounded } from "./rounded.ts";
import { type Look, drawSign } from "./looks.ts";
import { gradient } from "./paint.ts";
import { type Picture, context } from "./sprites.ts";

const FAMILY = 'system-ui, -apple-system, "PingFang SC", "Noto Sans CJK SC", sans-serif';
const MARGIN = 22; // px around the plate for its shadow
const KEPT = 24; // pictures; most outcomes repeat the same words

/** Labels paints plates with words for one pixel ratio, and keeps the newest. */
export class Labels {
  readonly #ratio: number;
  readonly #made = new Map<string, Picture>();

  constructor(ratio: number) {
    this.#ratio = ratio;
  }

  /**
   * of returns a plate with a line and a smaller one below it. size is the line's, in px. It is at most `wide` px wide.
   */
  of(look: Look, text: string, sub: string, size: number, wide: number): Picture {
    const key = [look.plate[0], text, sub, size, wide].join("\n");
    let p = this.#made.get(key);
    if (p) {
      this.#made.delete(key); // moved to the end: the oldest are first
    } else {
      p = this.#paint(look, text, sub, size, wide);
      for (const oldest of this.#made.keys()) {
        if (this.#made.size < KEPT) break;
        this.#made.delete(oldest);
      }
    }
    this.#made.set(key, p);
    return p;
  }

  #paint(look: Look, text: string, sub: string, size: number, wide: number): Picture {
    const image = document.createElement("canvas");
    const c = context(image);
    const font = (weight: number, px: number): string => `${weight} ${px}px ${FAMILY}`;
    c.font = font(800, size);
    const sign = look.sign ? size * 1.25 : 0;
    const line = c.measureText(text).width;
    c.font = font(600, size * 0.6);
    const small = sub ? c.measureText(sub).width : 0;
    // On a narrow screen the words become smaller; they are never cut.
    const natural = Math.max(line + sign, small) + size * 1.5;
    const fit = Math.min(1, wide / natural);
    const w = natural;
    const h = size * (sub ? 2.75 : 1.95);
    const ratio = this.#ratio * fit;
    image.width = Math.ceil((w + 2 * MARGIN) * ratio);
    image.height = Math.ceil((h + 2 * MARGIN) * ratio);
    c.scale(ratio, ratio);
    c.translate(MARGIN + w / 2, MARGIN + h / 2);
    plate(c, w, h, look.plate);
    c.fillStyle = look.ink;
    c.textAlign = "center";
    c.textBaseline = "middle";
    const y = sub ? -size * 0.42 : size * 0.04;
    c.font = font(800, size);
    c.fillText(text, sign / 2, y);
    if (look.sign) drawSign(c, look.sign, sign / 2 - line / 2 - size * 0.78, y, size * 0.44, look.ink);
    c.font = font(600, size * 0.6);
    if (sub) c.fillText(sub, 0, size * 0.66);
    return { image, w: (w + 2 * MARGIN) * fit, h: (h + 2 * MARGIN) * fit };
  }
}

function plate(c: CanvasRenderingContext2D, w: number, h: number, colors: readonly string[]): void {
  c.save();
  c.shadowColor = "rgb(30 0 10 / 0.55)";
  c.shadowBlur = 16;
  c.shadowOffsetY = 5;
  c.fillStyle = gradient(c, 0, -h / 2, 0, h / 2, colors);
  c.beginPath();
  rounded(c, -w / 2, -h / 2, w, h, Math.min(h / 2, 24));
  c.fill();
  c.restore();
  c.strokeStyle = "rgb(255 255 255 / 0.4)";
  c.lineWidth = 1.25;
  c.stroke();
}
