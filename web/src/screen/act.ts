// The content of the stage: a pure function of the state and the server's time. The show goes on by the clock without a
// connection.

import { phaseOf } from "../rain/phase.ts";
import { type State, ended } from "./state.ts";

const NUMBERS = 10_000; // ms before a rain in which the numbers fill the screen
const GO = 1_300; // ms for which "Go!" stays
const BOARD = 45_000; // ms for which the board stays, at most

/** Act is the shown content. Durations in ms. */
export type Act =
  | { kind: "entering" }
  | { kind: "none" }
  /** left: until the next rain; null if none is known */
  | { kind: "waiting"; left: number | null; paused: boolean }
  | { kind: "countdown"; number: number }
  | { kind: "falling"; go: boolean; soldOut: boolean }
  | { kind: "paused" }
  /** left as above; finale: the event is over, and the reason */
  | { kind: "board"; left: number | null; finale: "closed" | "sold_out" | null };

/** actOf decides what to show at a time t (Unix ms of the server). */
export function actOf(s: State, t: number): Act {
  if (!s.campaign) return { kind: s.nothing ? "none" : "entering" };
  if (s.campaign.state === "closed") return { kind: "board", left: null, finale: "closed" };
  const paused = s.campaign.state === "paused";
  switch (phaseOf(s.rain, t)) {
    case "countdown": {
      const left = s.rain ? s.rain.starts_at - t : 0;
      if (left <= NUMBERS) return { kind: "countdown", number: Math.ceil(left / 1000) };
      return boardLasts(s, t, t + left) ? { kind: "board", left, finale: null } : { kind: "waiting", left, paused };
    }
    case "falling":
      return { kind: "falling", go: s.rain !== null && t - s.rain.starts_at < GO, soldOut: s.figures?.stock === 0 };
    case "paused":
      return { kind: "paused" };
    default:
      if (boardLasts(s, t, null)) return { kind: "board", left: null, finale: s.figures?.stock === 0 ? "sold_out" : null };
      if (s.figures?.stock === 0) return { kind: "board", left: null, finale: "sold_out" };
      return { kind: "waiting", left: null, paused };
  }
}

// boardLasts: the board of the last rain stays for a while. Half of the time before the next rain is for the QR code.
function boardLasts(s: State, t: number, next: number | null): boolean {
  const end = ended(s, t) ?? s.lastEnd;
  if (end === null || given(s) === 0) return false;
  return t - end < (next === null ? BOARD : Math.min(BOARD, (next - NUMBERS - end) / 2));
}

/** given returns the number of packets won in the last rain, or of all rains if the screen came later; null while
 * unknown. */
export function given({ figures, round }: State): number | null {
  return figures && figures.won - (round?.before?.won ?? 0);
}

/** busy reports whether the act should play to its end before another campaign is shown. */
export function busy(act: Act): boolean {
  return act.kind === "countdown" || act.kind === "falling" || (act.kind === "board" && act.finale === null);
}

/** nextLook returns the time (ms) until the picture may change by itself: at the server's full seconds during a
 * countdown. */
export function nextLook(s: State, t: number): number {
  const left = s.rain ? s.rain.starts_at - t : -1;
  return left > 0 ? Math.min(250, Math.max(4, (left % 1000) + 1)) : 250;
}
