// A path that Canvas 2D lacks on the supported phones.

/** rounded adds a rectangle with round corners to the path. Canvases have their own only since 2023. */
export function rounded(c: CanvasRenderingContext2D, x: number, y: number, w: number, h: number, r: number): void {
  const [right, bottom] = [x + w, y + h];
  c.moveTo(x + r, y);
  c.arcTo(right, y, right, bottom, r);
  c.arcTo(right, bottom, x, bottom, r);
  c.arcTo(x, bottom, x, y, r);
  c.arcTo(x, y, right, y, r);
  c.closePath();
}
