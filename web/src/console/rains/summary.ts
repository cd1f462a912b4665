// A summary of a rain's figures.

import type { History } from "../../shared/schemas.ts";

/**
 * Summary is a rain in six figures. Times are ms, or null without taps. span is the longest time of a row, in seconds.
 */
export interface Summary {
  taps: number;
  won: number;
  peak: number;
  online: number;
  p50: number | null;
  p99: number | null;
  span: number;
}

/**
 * since counts from the beginning of a rain: a campaign's counts go on over its rains. A count that falls comes from a
 * node that has restarted; its counts from before stay.
 */
export function since(h: History, startsAt: number, column: readonly number[]): number[] {
  const before = h.t.filter((t, i) => t + (h.span_ms[i] ?? 0) <= startsAt).length - 1;
  let sum = 0;
  return column.map((n, i) => (i <= before ? 0 : (sum += Math.max(0, n - (column[i - 1] ?? 0)))));
}

/** sumUp makes the summary of a rain with this start. */
export function sumUp(h: History, startsAt: number): Summary {
  const all = (column: readonly number[]) => since(h, startsAt, column).at(-1) ?? 0;
  const most = (column: readonly (number | null)[]) => column.reduce<number | null>((a, b) => (b !== null && (a === null || b > a) ? b : a), null);
  return {
    taps: all(h.taps), won: all(h.won), peak: most(h.grabs_per_second) ?? 0, online: most(h.online) ?? 0,
    p50: most(h.tap_p50_ms), p99: most(h.tap_p99_ms), span: (most(h.span_ms) ?? 0) / 1_000,
  };
}
