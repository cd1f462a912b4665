// A QR code on a canvas.

import { encode } from "uqr";

const QUIET = 4; // modules of white around the code, as the standard requires

/** code paints the code of an address in the middle of a square, at most as large as the square. */
export function code(c: CanvasRenderingContext2D, address: string, left: number, top: number, width: number): void {
  const { data, size } = encode(address, { ecc: "M", boostEcc: true, border: QUIET });
  const unit = Math.floor(width / size);
  const rest = Math.round((width - unit * size) / 2);
  const [x, y] = [left + rest, top + rest];
  c.fillStyle = "#ffffff";
  c.fillRect(x, y, unit * size, unit * size);
  c.fillStyle = "#1d0509";
  data.forEach((row, j) => row.forEach((dark, i) => dark && c.fillRect(x + i * unit, y + j * unit, unit, unit)));
}
