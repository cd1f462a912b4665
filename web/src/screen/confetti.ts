// Confetti: the position of each piece follows from its number and the time.

import type { Brush } from "../rain/brush.ts";
import type { View } from "../rain/sky.ts";

const PIECES = 150;
const COLORS = ["#ffe9a6", "#f7c95c", "#ff8b4a", "#ff5a4d", "#fff6dc", "#ffb3c1"] as const;

/** confetti draws all pieces at a time t (ms). */
export function confetti(brush: Brush, view: View, t: number): void {
  for (let i = 0; i < PIECES; i++) {
    const own = (i * 0.754877) % 1; // numbers of its own for each piece, spread evenly
    const other = (i * 0.569840) % 1;
    const period = 4_200 + 3_800 * other;
    const fallen = (t / period + own) % 1;
    const x = view.width * ((i * 0.618034) % 1) + 18 * Math.sin(t / 700 + i);
    brush.frame(x, -20 + (view.height + 40) * fallen, t / (260 + 300 * own) + i, 1, Math.cos(t / (190 + 160 * other) + i));
    brush.c.fillStyle = COLORS[i % COLORS.length] ?? COLORS[0];
    brush.c.fillRect(-4 - 3 * own, -3, 8 + 6 * own, 6);
  }
}
