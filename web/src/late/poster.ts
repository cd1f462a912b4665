// The poster that a player keeps or shares: the wins, and the QR code of the page. It has no names.

import { rounded } from "../rain/rounded.ts";
import { gradient, opened, TINTS_OF } from "../rain/paint.ts";
import { fortune, golden, type Prize } from "../rain/prize.ts";
import { context } from "../rain/sprites.ts";
import { code } from "./code.ts";

const [W, H] = [750, 1100]; // px: sharp in a phone's album
const CODE = 270; // px
const FONT = 'system-ui, -apple-system, "PingFang SC", "Noto Sans CJK SC", sans-serif';

/** Words are the texts of a poster, in the player's language. */
export interface Words {
  event: string;
  title: string;
  amount: string;
  rank: string;
  scan: string;
}

/** poster paints a poster. address is the address in its code. */
export function poster(words: Words, prize: Prize, address: string): HTMLCanvasElement {
  const image = document.createElement("canvas");
  [image.width, image.height] = [W, H];
  const c = context(image);
  c.fillStyle = gradient(c, 0, 0, 0, H, ["#3a0a1c", "#5f0d20", "#9c1822", "#d9332a"]);
  c.fillRect(0, 0, W, H);
  beams(c, W / 2, 410);
  frame(c);
  c.textAlign = "center";
  c.textBaseline = "middle";
  line(c, words.event, 110, 600, 34, "#ffe9a6");
  line(c, words.title, 186, 900, 64, "#fff6e0");
  drawing(c, prize);
  line(c, words.amount, 622, 900, 104, "#ffd56b");
  line(c, words.rank, 706, 600, 34, "#fff6e0");
  code(c, address, (W - CODE) / 2, 754, CODE);
  line(c, words.scan, 1046, 600, 26, "#ffe9a6");
  return image;
}

// line writes one centered line, and makes it smaller if it is too long.
function line(c: CanvasRenderingContext2D, text: string, y: number, weight: number, size: number, ink: string): void {
  c.font = `${weight} ${size}px ${FONT}`;
  const fit = Math.min(1, (W - 120) / Math.max(1, c.measureText(text).width));
  c.font = `${weight} ${size * fit}px ${FONT}`;
  c.fillStyle = ink;
  c.fillText(text, W / 2, y);
}

function beams(c: CanvasRenderingContext2D, x: number, y: number): void {
  c.fillStyle = "rgb(255 214 120 / 0.1)";
  c.beginPath();
  for (let k = 0; k < 16; k++) {
    const a = (k * Math.PI) / 8;
    c.moveTo(x, y);
    c.lineTo(x + 900 * Math.cos(a - 0.09), y + 900 * Math.sin(a - 0.09));
    c.lineTo(x + 900 * Math.cos(a + 0.09), y + 900 * Math.sin(a + 0.09));
  }
  c.fill();
}

function frame(c: CanvasRenderingContext2D): void {
  c.strokeStyle = "rgb(247 201 92 / 0.85)";
  c.lineWidth = 5;
  c.beginPath();
  rounded(c, 28, 28, W - 56, H - 56, 36);
  c.stroke();
}

function drawing(c: CanvasRenderingContext2D, prize: Prize): void {
  const [w, h] = [220, 282];
  c.save();
  c.translate((W - w) / 2, 266);
  const [tint] = TINTS_OF;
  if (prize === "gold") golden(c, w, h);
  else if (prize === "fortune") fortune(c, w, h);
  else if (tint) {
    c.translate(w / 14, h / 8); // its flap stands above it, and must not touch the title
    opened(c, w * (6 / 7), h * (6 / 7), tint);
  }
  c.restore();
}
