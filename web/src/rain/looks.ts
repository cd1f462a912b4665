// The looks of a tap's outcomes. Each has its own plate and sign, so that its colour is not the only difference.

import type { Stuff } from "./particles.ts";

type Canvas = CanvasRenderingContext2D;
export type Sign = "tick" | "bar" | "ring" | "clock" | "spark" | "again" | "hourglass" | "cross" | "question";

/** Look is the look of one outcome: ink is the text's colour, plate its background (top, bottom), sign the icon before
 * it. */
export interface Look {
  ink: string;
  plate: readonly [string, string];
  sign?: Sign;
  stuff?: Stuff;
}

/** LOOKS, by outcome. `decoy` is the outcome "empty" of a decoy, `other` any outcome of a later server. */
export const LOOKS: Readonly<Record<string, Look>> = {
  won: { ink: "#7a1410", plate: ["#fff3c4", "#f6c453"], stuff: "confetti" },
  already: { ink: "#eafff4", plate: ["#187a5b", "#0b5a3f"], sign: "tick" },
  sold_out: { ink: "#ffffff", plate: ["#5b6070", "#3a3e4b"], sign: "bar" },
  empty: { ink: "#33384a", plate: ["#eef0f6", "#cfd4e2"], sign: "ring", stuff: "dust" },
  decoy: { ink: "#ffe2b0", plate: ["#2b3146", "#151a2a"], sign: "cross", stuff: "fire" },
  late: { ink: "#f3ecff", plate: ["#6244a8", "#4a2f8c"], sign: "hourglass" },
  limited: { ink: "#fff4e0", plate: ["#99550f", "#7a3d08"], sign: "bar" },
  not_open: { ink: "#e6f3ff", plate: ["#2867a6", "#1d4d85"], sign: "clock" },
  too_fast: { ink: "#42260a", plate: ["#ffd166", "#f4a934"], sign: "spark" },
  unavailable: { ink: "#ffffff", plate: ["#b83643", "#8f2530"], sign: "again" },
  unknown_drop: { ink: "#dfe7ff", plate: ["#43547d", "#2c3a5e"], sign: "question" },
  practice: { ink: "#4a2a10", plate: ["#fff6e0", "#ecd3a6"], sign: "tick", stuff: "confetti" },
  other: { ink: "#ffffff", plate: ["#5b6070", "#33363f"], sign: "ring" },
};

/** lookOf returns the look of an outcome, also of an unknown one. */
export function lookOf(outcome: string): Look {
  return LOOKS[outcome] ?? { ink: "#ffffff", plate: ["#5b6070", "#33363f"], sign: "ring" };
}

/** drawSign draws a sign around (x, y), r px to each side. */
export function drawSign(c: Canvas, sign: Sign, x: number, y: number, r: number, ink: string): void {
  c.save();
  c.translate(x, y);
  c.strokeStyle = ink;
  c.lineWidth = r * 0.36;
  c.lineCap = c.lineJoin = "round";
  c.beginPath();
  SIGNS[sign](c, r);
  c.stroke();
  c.restore();
}

function path(c: Canvas, r: number, ...points: readonly (readonly [number, number])[]): void {
  points.forEach(([x, y], i) => (i ? c.lineTo(x * r, y * r) : c.moveTo(x * r, y * r)));
}

function ring(c: Canvas, r: number): void {
  c.moveTo(r * 0.9, 0);
  c.arc(0, 0, r * 0.9, 0, 7);
}

const SIGNS: Record<Sign, (c: Canvas, r: number) => void> = {
  tick: (c, r) => path(c, r, [-1, 0], [-0.25, 0.75], [1, -0.75]),
  cross: (c, r) => {
    path(c, r, [-0.75, -0.75], [0.75, 0.75]);
    path(c, r, [0.75, -0.75], [-0.75, 0.75]);
  },
  bar: (c, r) => {
    ring(c, r);
    path(c, r, [-0.62, 0.62], [0.62, -0.62]);
  },
  ring,
  clock: (c, r) => {
    ring(c, r);
    path(c, r, [0, -0.5], [0, 0], [0.4, 0.25]);
  },
  hourglass: (c, r) => {
    path(c, r, [-0.7, -0.95], [0.7, -0.95], [-0.7, 0.95], [0.7, 0.95], [-0.7, -0.95]);
  },
  spark: (c, r) => {
    for (let i = 0; i < 4; i++) {
      const [x, y] = [Math.cos((i * Math.PI) / 4), Math.sin((i * Math.PI) / 4)];
      path(c, r, [-x, -y], [x, y]);
    }
  },
  again: (c, r) => {
    c.arc(0, 0, r * 0.9, 0.6, 5.6);
    path(c, r, [1.15, -1.05], [0.75, -0.5], [0.1, -0.65]);
  },
  question: (c, r) => {
    c.arc(0, -r * 0.4, r * 0.55, Math.PI, 2.4 * Math.PI);
    c.lineTo(0, r * 0.35);
    path(c, r, [0, 0.95], [0, 0.98]);
  },
};
