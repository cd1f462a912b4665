// The drawings of a packet's content, by its amount compared with the event's average. They are shown only after the
// catch.

import { rounded } from "./rounded.ts";
import { type Tint, envelope, gradient } from "./paint.ts";

type Canvas = CanvasRenderingContext2D;

/** Prize is the kind of a packet's content. */
export type Prize = "plain" | "gold" | "fortune";

const GOLD_FROM = 2; // times the average packet
const FORTUNE_FROM = 5;
const BRUSHED = '"STKaiti", "Kaiti SC", "KaiTi", "AR PL UKai CN", "Noto Serif CJK SC", serif';
const GOLD: Tint = { body: ["#fff3c2", "#f8cd62", "#d8962c"], flap: ["#fffae0", "#f0ba4a"], lining: "#9c5a0c" };

/** prizeOf returns the kind of an amount compared with the average, both in minor units; average 0: unknown. */
export function prizeOf(amount: number, average: number): Prize {
  if (!(average > 0) || amount < GOLD_FROM * average) return "plain";
  return amount < FORTUNE_FROM * average ? "gold" : "fortune";
}

/** golden paints a packet of gold, for much more than the average. */
export function golden(c: Canvas, w: number, h: number): void {
  envelope(c, w, h, GOLD);
}

/** fortune paints the red square on its corner, with the sign of fortune in gold: for a multiple of the average. */
export function fortune(c: Canvas, w: number, h: number): void {
  const side = w * 0.92;
  c.save();
  c.translate(w / 2, h / 2);
  c.rotate(Math.PI / 4);
  c.shadowColor = "rgb(60 0 8 / 0.6)";
  c.shadowBlur = w * 0.14;
  c.fillStyle = gradient(c, -side / 2, -side / 2, side / 2, side / 2, ["#ff5a45", "#d9202a", "#a60d1e"]);
  c.beginPath();
  rounded(c, -side / 2, -side / 2, side, side, w * 0.07);
  c.fill();
  c.shadowColor = "transparent";
  c.strokeStyle = "#ffe08a";
  c.lineWidth = w * 0.035;
  c.beginPath();
  rounded(c, -side * 0.44, -side * 0.44, side * 0.88, side * 0.88, w * 0.04);
  c.stroke();
  c.restore();
  c.font = `900 ${w * 0.66}px ${BRUSHED}`;
  c.textAlign = "center";
  c.textBaseline = "middle";
  c.fillStyle = gradient(c, 0, h / 2 - w * 0.35, 0, h / 2 + w * 0.35, ["#fff6cf", "#f7c95c", "#e09a2c"]);
  c.fillText("福", w / 2, h / 2 + w * 0.02);
}
