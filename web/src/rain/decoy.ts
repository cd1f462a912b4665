// The drawing of a decoy. Every player must distinguish it from a packet without seeing red. So it is round and dark
// with a white cross, and packets have corners and are bright.

import { rounded } from "./rounded.ts";
import { gradient } from "./paint.ts";

type Canvas = CanvasRenderingContext2D;

/** bomb paints the decoy into w × h px. */
export function bomb(c: Canvas, w: number, h: number): void {
  const [x, y, r] = [w / 2, h * 0.58, w * 0.44];
  c.save();
  c.shadowColor = "rgb(0 0 0 / 0.5)";
  c.shadowBlur = w * 0.14;
  c.shadowOffsetY = w * 0.05;
  const g = c.createRadialGradient(x - r * 0.4, y - r * 0.45, r * 0.1, x, y, r);
  g.addColorStop(0, "#8f9bb3");
  g.addColorStop(0.3, "#3d465c");
  g.addColorStop(1, "#0f1320");
  c.fillStyle = g;
  c.beginPath();
  c.arc(x, y, r, 0, 2 * Math.PI);
  c.fill();
  c.restore();
  c.strokeStyle = "rgb(214 224 245 / 0.75)";
  c.lineWidth = Math.max(1, w * 0.024);
  c.stroke();
  neck(c, x, y, r, w);
  cross(c, x, y + r * 0.08, r * 0.36);
}

function neck(c: Canvas, x: number, y: number, r: number, w: number): void {
  c.fillStyle = gradient(c, x - r * 0.3, 0, x + r * 0.3, 0, ["#5a657d", "#1d2334"]);
  c.beginPath();
  rounded(c, x - r * 0.27, y - r * 1.18, r * 0.54, r * 0.32, r * 0.08);
  c.fill();
  c.strokeStyle = "#d9b47c";
  c.lineWidth = w * 0.05;
  c.lineCap = "round";
  c.beginPath();
  c.moveTo(x, y - r * 1.16);
  c.quadraticCurveTo(x + r * 0.1, y - r * 1.58, x + r * 0.56, y - r * 1.46);
  c.stroke();
  spark(c, x + r * 0.64, y - r * 1.46, r * 0.36);
}

function spark(c: Canvas, x: number, y: number, r: number): void {
  c.fillStyle = "#ffd964";
  c.beginPath();
  for (let i = 0; i < 16; i++) {
    const [a, d] = [(i * Math.PI) / 8, i % 2 ? r * 0.42 : r];
    c.lineTo(x + Math.cos(a) * d, y + Math.sin(a) * d);
  }
  c.fill();
  c.fillStyle = "#ff8a3c";
  c.beginPath();
  c.arc(x, y, r * 0.34, 0, 2 * Math.PI);
  c.fill();
}

function cross(c: Canvas, x: number, y: number, r: number): void {
  c.strokeStyle = "#ffffff";
  c.lineWidth = r * 0.42;
  c.lineCap = "round";
  c.beginPath();
  c.moveTo(x - r, y - r);
  c.lineTo(x + r, y + r);
  c.moveTo(x + r, y - r);
  c.lineTo(x - r, y + r);
  c.stroke();
}
