// The server's stored figures as rows of a ring.

import type { History } from "../../shared/schemas.ts";
import type { Past } from "./ring.ts";

/** pastOf makes rows of a history. Their times are seconds, after shift milliseconds were added. */
export function pastOf(h: History, shift: number): Past[] {
  return h.t.map((t, i) => {
    const span = h.span_ms[i] ?? 1_000;
    const before = i > 0 && t - (h.t[i - 1] ?? 0) <= 2 * span; // otherwise the time between is unknown
    // A count that falls comes from a node that has restarted.
    const rate = (column: readonly number[]) => {
      const more = (column[i] ?? 0) - (column[i - 1] ?? 0);
      return before && more >= 0 ? (1_000 * more) / (t - (h.t[i - 1] ?? 0)) : null;
    };
    return {
      time: (t + span + shift) / 1_000, span: span / 1_000,
      row: {
        grabs: h.grabs_per_second[i] ?? null, won: h.won[i] ?? null, stock: h.stock[i] ?? null, paid: h.paid[i] ?? null, online: h.online[i] ?? null,
        p50: h.tap_p50_ms[i] ?? null, p99: h.tap_p99_ms[i] ?? null, wins: rate(h.won), empty: rate(h.empty), late: rate(h.late),
      },
    };
  });
}
