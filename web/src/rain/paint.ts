// The drawings of the falling things. They are slow and look good, and are made once for each size, see sprites.ts.

import { rounded } from "./rounded.ts";

type Canvas = CanvasRenderingContext2D;

const GOLD = ["#fff0b8", "#f7c95c", "#d9942b"];

/** Tint has the colours of one kind of envelope, light to dark. */
export interface Tint {
  body: readonly string[];
  flap: readonly string[];
  /** the lining, seen when it is open */
  lining: string;
}

/** TINTS_OF are the envelopes' colours: different reds make a crowd of them lively. They have no meaning. */
export const TINTS_OF: readonly Tint[] = [
  { body: ["#ff6a55", "#e2252b", "#b80f22"], flap: ["#ff8069", "#d81e2a"], lining: "#8c0a1a" },
  { body: ["#ff8148", "#e8421f", "#bd2014"], flap: ["#ff9e63", "#de3d1e"], lining: "#8f1a0c" },
  { body: ["#f4567a", "#cf1743", "#9c0b38"], flap: ["#fb7391", "#c4143f"], lining: "#74062a" },
];

/** gradient is a linear gradient through colours at equal distances. */
export function gradient(c: Canvas, x0: number, y0: number, x1: number, y1: number, colors: readonly string[]): CanvasGradient {
  const g = c.createLinearGradient(x0, y0, x1, y1);
  colors.forEach((color, i) => g.addColorStop(i / (colors.length - 1), color));
  return g;
}

/** envelope paints a closed red packet of w × h px, with its seal. */
export function envelope(c: Canvas, w: number, h: number, tint: Tint): void {
  const r = w * 0.11;
  body(c, w, h, tint);
  c.save();
  c.beginPath();
  rounded(c, 0, 0, w, h, r);
  c.clip();
  waves(c, w, h);
  flap(c, w, h, tint);
  shine(c, w, h);
  c.restore();
  border(c, w, h);
  seal(c, w / 2, h * 0.42, w * 0.215);
}

/** opened paints the same packet with its flap up. The caller draws the content. */
export function opened(c: Canvas, w: number, h: number, tint: Tint): void {
  c.fillStyle = gradient(c, 0, -h * 0.3, 0, h * 0.1, [tint.body[2] ?? "", tint.lining]);
  c.beginPath();
  c.moveTo(w * 0.02, h * 0.06);
  c.lineTo(w * 0.98, h * 0.06);
  c.lineTo(w * 0.98, -h * 0.03);
  c.quadraticCurveTo(w / 2, -h * 0.34, w * 0.02, -h * 0.03);
  c.closePath();
  c.fill();
  c.strokeStyle = "rgb(255 224 150 / 0.8)";
  c.lineWidth = Math.max(1, w * 0.02);
  c.stroke();
  body(c, w, h, tint);
  c.save();
  c.beginPath();
  rounded(c, 0, 0, w, h, w * 0.11);
  c.clip();
  waves(c, w, h);
  c.fillStyle = tint.lining;
  c.beginPath();
  c.ellipse(w / 2, 0, w * 0.56, h * 0.15, 0, 0, 2 * Math.PI);
  c.fill();
  c.restore();
  border(c, w, h);
}

function body(c: Canvas, w: number, h: number, tint: Tint): void {
  c.save();
  c.shadowColor = "rgb(40 0 8 / 0.55)";
  c.shadowBlur = w * 0.14;
  c.shadowOffsetY = w * 0.05;
  c.fillStyle = gradient(c, 0, 0, w * 0.4, h, tint.body);
  c.beginPath();
  rounded(c, 0, 0, w, h, w * 0.11);
  c.fill();
  c.restore();
}

function border(c: Canvas, w: number, h: number): void {
  c.lineWidth = Math.max(1, w * 0.02);
  c.strokeStyle = gradient(c, 0, 0, w, h, ["rgb(255 232 170 / 0.95)", "rgb(255 196 90 / 0.3)", "rgb(255 214 120 / 0.75)"]);
  c.beginPath();
  rounded(c, c.lineWidth / 2, c.lineWidth / 2, w - c.lineWidth, h - c.lineWidth, w * 0.11);
  c.stroke();
}

// waves draws the old pattern of overlapping sea waves, faint, on the lower part.
function waves(c: Canvas, w: number, h: number): void {
  c.strokeStyle = "rgb(255 214 130 / 0.24)";
  c.lineWidth = Math.max(0.75, w * 0.014);
  const step = w / 3.5;
  for (let row = 0; row < 3; row++) {
    for (let i = -1; i < 5; i++) {
      const [x, y] = [i * step + (row % 2) * (step / 2), h - row * step * 0.42];
      for (const f of [0.5, 0.32, 0.14]) {
        c.beginPath();
        c.arc(x, y, step * f, Math.PI, 2 * Math.PI);
        c.stroke();
      }
    }
  }
}

function flap(c: Canvas, w: number, h: number, tint: Tint): void {
  c.save();
  c.shadowColor = "rgb(90 0 12 / 0.55)";
  c.shadowBlur = w * 0.1;
  c.shadowOffsetY = w * 0.03;
  c.fillStyle = gradient(c, 0, 0, 0, h * 0.45, tint.flap);
  c.beginPath();
  c.moveTo(0, 0);
  c.lineTo(w, 0);
  c.lineTo(w, h * 0.26);
  c.quadraticCurveTo(w / 2, h * 0.58, 0, h * 0.26);
  c.closePath();
  c.fill();
  c.restore();
  c.strokeStyle = "rgb(255 224 150 / 0.8)";
  c.lineWidth = Math.max(1, w * 0.02);
  c.beginPath();
  c.moveTo(w, h * 0.26);
  c.quadraticCurveTo(w / 2, h * 0.58, 0, h * 0.26);
  c.stroke();
}

// shine draws the light of lacquered paper along one edge.
function shine(c: Canvas, w: number, h: number): void {
  c.fillStyle = gradient(c, 0, 0, w, h * 0.35, ["rgb(255 255 255 / 0.3)", "rgb(255 255 255 / 0.05)", "rgb(255 255 255 / 0)"]);
  c.fillRect(0, 0, w, h);
}

/** coin paints a round coin with a square hole. */
export function coin(c: Canvas, x: number, y: number, r: number): void {
  disc(c, x, y, r);
  const q = r * 0.3;
  c.fillStyle = "#a3161f";
  c.strokeStyle = "rgb(166 96 14 / 0.75)";
  c.lineWidth = Math.max(0.75, r * 0.09);
  c.fillRect(x - q, y - q, 2 * q, 2 * q);
  c.strokeRect(x - q, y - q, 2 * q, 2 * q);
}

// seal draws the clasp: a coin with a knot of four petals, which needs no language.
function seal(c: Canvas, x: number, y: number, r: number): void {
  disc(c, x, y, r);
  c.save();
  c.translate(x, y);
  c.fillStyle = "#b3161f";
  for (let i = 0; i < 4; i++) {
    c.rotate(Math.PI / 2);
    c.beginPath();
    c.ellipse(0, -r * 0.36, r * 0.19, r * 0.3, 0, 0, 2 * Math.PI);
    c.fill();
  }
  c.fillStyle = "#ffe9a6";
  c.beginPath();
  c.arc(0, 0, r * 0.15, 0, 2 * Math.PI);
  c.fill();
  c.restore();
}

function disc(c: Canvas, x: number, y: number, r: number): void {
  c.save();
  c.shadowColor = "rgb(70 10 0 / 0.5)";
  c.shadowBlur = r * 0.4;
  c.shadowOffsetY = r * 0.12;
  c.fillStyle = gradient(c, x - r, y - r, x + r, y + r, GOLD);
  c.beginPath();
  c.arc(x, y, r, 0, 2 * Math.PI);
  c.fill();
  c.restore();
  c.strokeStyle = "rgb(166 96 14 / 0.75)";
  c.lineWidth = Math.max(0.75, r * 0.09);
  c.beginPath();
  c.arc(x, y, r * 0.82, 0, 2 * Math.PI);
  c.stroke();
}
