// What the figures of a rain come to.

import type { History } from "../../shared/schemas.ts";

/** Summary is a rain in six figures. Times are ms; null where nobody has tapped. span is how many seconds a row is, at most. */
export interface Summary {
  taps: number;
  won: number;
  peak: number;
  online: number;
  p50: number | null;
  p99: number | null;
  span: number;
}

/** sumUp makes the summary of a rain that began at a time. */
export function sumUp(h: History, startsAt: number): Summary {
  // Counts go on over the rains of a campaign: those of this one are what came after it had begun.
  const before = h.t.filter((t, i) => t + (h.span_ms[i] ?? 0) <= startsAt).length - 1;
  const since = (column: readonly number[]) => Math.max(0, (column.at(-1) ?? 0) - (column[before] ?? 0));
  const most = (column: readonly (number | null)[]) => column.reduce<number | null>((a, b) => (b !== null && (a === null || b > a) ? b : a), null);
  return {
    taps: since(h.taps), won: since(h.won), peak: most(h.grabs_per_second) ?? 0, online: most(h.online) ?? 0,
    p50: most(h.tap_p50_ms), p99: most(h.tap_p99_ms), span: (most(h.span_ms) ?? 0) / 1_000,
  };
}
