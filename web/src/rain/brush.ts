// Copies pictures to the screen. Each needs one transform and one copy, without saved states and garbage.

import type { Picture } from "./sprites.ts";

/** Brush draws on a canvas whose units are CSS pixels; ratio is the number of device pixels in one of them. */
export class Brush {
  readonly c: CanvasRenderingContext2D;
  ratio = 1;
  /** px by which a jolt moves everything */
  dx = 0;
  dy = 0;

  constructor(c: CanvasRenderingContext2D) {
    this.c = c;
  }

  /** frame moves the origin to (x, y), turned by angle, sx and sy times as large. */
  frame(x: number, y: number, angle: number, sx: number, sy: number): void {
    const r = this.ratio;
    const cos = Math.cos(angle) * r;
    const sin = Math.sin(angle) * r;
    this.c.setTransform(cos * sx, sin * sx, -sin * sy, cos * sy, (x + this.dx) * r, (y + this.dy) * r);
  }

  /** copy copies a picture of canvas pixels with its middle at (x, y), at whole pixels. */
  copy(image: HTMLCanvasElement, x: number, y: number): void {
    this.c.setTransform(1, 0, 0, 1, 0, 0);
    this.c.drawImage(image, Math.round((x + this.dx) * this.ratio - image.width / 2), Math.round((y + this.dy) * this.ratio - image.height / 2));
  }

  /** stamp copies a picture with its middle at (x, y). */
  stamp(p: Picture, x: number, y: number, angle = 0, sx = 1, sy = sx): void {
    this.frame(x, y, angle, sx, sy);
    this.c.drawImage(p.image, -p.w / 2, -p.h / 2, p.w, p.h);
  }
}
