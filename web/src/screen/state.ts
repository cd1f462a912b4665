// The state of the screen, and its change by each message. These are pure functions, so that each state can be tested
// separately.

import type { Campaign, Rain, RoomMessage, WelcomeMessage, Winner } from "../../sdk/redrain.d.ts";
import { phaseOf } from "../rain/phase.ts";
import { mergeNewest } from "../rain/winners.ts";

const KEPT_WINNERS = 20; // more than any wall shows

/** Figures are the room's figures of the campaign. amount (minor units) is null if the server does not send it. */
export interface Figures {
  online: number;
  /** players who wait for a slot */
  waiting: number;
  stock: number;
  won: number;
  amount: number | null;
}

/** Entry is a winner with a number, so that a row that moves down stays the same row. */
export interface Entry extends Winner {
  id: number;
}

/** Round holds the counts of one rain. */
export interface Round {
  /** id of the rain */
  rain: string;
  /** the figures from before it. null if the screen came later: then only the campaign's figures are known */
  before: Figures | null;
  /** the highest number of players online during it */
  players: number;
}

/** State is everything that the screen shows, except the time. Times are Unix ms of the server. */
export interface State {
  /** first: not connected yet; away: the connection is lost, and the screen reconnects */
  link: "first" | "open" | "away";
  /** reason of the last final refusal: a close code, or an HTTP status; 0: none */
  refused: number;
  /** whether the server has no current campaign */
  nothing: boolean;
  /** the server's address for phones in the local network, from the server */
  lan: string | null;
  campaign: Campaign | null;
  rain: Rain | null;
  /** time of an early stop; null if the rain ended, or will end, as scheduled */
  stoppedAt: number | null;
  /** end of the previous rain; null if there was none */
  lastEnd: number | null;
  figures: Figures | null;
  /** newest first */
  winners: readonly Entry[];
  /** leading players, greatest first */
  top: readonly Winner[];
  /** of the newest rain that has begun */
  round: Round | null;
  /** of an announced rain, until it begins */
  ahead: Round | null;
}

export const initial: State = {
  link: "first", refused: 0, nothing: false, lan: null, campaign: null, rain: null, stoppedAt: null, lastEnd: null,
  figures: null, winners: [], top: [], round: null, ahead: null,
};

/** welcomed takes a welcome, of the same campaign after a reconnect, or of a new one. */
export function welcomed(s: State, m: WelcomeMessage, t: number): State {
  const same = s.campaign?.id === m.campaign.id;
  const known: State = same ? s : { ...initial, lan: s.lan };
  return rained({ ...known, link: "open", refused: 0, nothing: false, campaign: m.campaign }, m.rain, t);
}

/** rained takes the campaign's newest rain. */
export function rained(s: State, rain: Rain | null, t: number): State {
  if (!rain) return { ...s, rain: null, stoppedAt: null };
  const stopped = rain.phase === "ended" && t < rain.ends_at;
  if (rain.id !== s.rain?.id) {
    return counted({ ...s, rain, stoppedAt: stopped ? t : null, lastEnd: ended(s, t) ?? s.lastEnd }, t);
  }
  return { ...s, rain, stoppedAt: stopped ? (s.stoppedAt ?? t) : null };
}

/** ended returns the end of the newest rain; null if it has not ended, or was cancelled before its first drop. */
export function ended(s: State, t: number): number | null {
  if (phaseOf(s.rain, t) !== "ended" || !s.rain) return null;
  const at = s.stoppedAt ?? s.rain.ends_at;
  return at > s.rain.starts_at ? at : null;
}

/** told takes the figures of the room, once a second. */
export function told(s: State, m: RoomMessage, t: number): State {
  const figures: Figures = { online: m.online, stock: m.stock, won: m.won, amount: m.amount_won ?? null, waiting: m.waiting ?? 0 };
  const winners = rolled(s.winners, m.winners ?? []);
  return counted({ ...s, figures, winners, top: m.top ?? best(s.top, fresh(s.winners, winners)) }, t);
}

// rolled puts the new winners before the known ones.
function rolled(known: readonly Entry[], next: readonly Winner[]): readonly Entry[] {
  const added = mergeNewest(known, next, Infinity).length - known.length;
  const again = next.slice(added);
  if (again.some((w, i) => w.name && !known[i]?.name)) known = known.map((e, i) => ({ ...again[i], ...e })); // a name arrives a moment after its winner
  if (added === 0) return known;
  const first = (known[0]?.id ?? 0) + added;
  return [...next.slice(0, added).map((w, i) => ({ ...w, id: first - i })), ...known].slice(0, KEPT_WINNERS);
}

function fresh(before: readonly Entry[], now: readonly Entry[]): readonly Entry[] {
  const last = before[0]?.id ?? 0;
  return now.filter((e) => e.id > last);
}

// best replaces `top` if the server does not send it: the greatest single wins that the screen has seen.
function best(top: readonly Winner[], more: readonly Entry[]): readonly Winner[] {
  if (more.length === 0) return top;
  return [...top, ...more.map(({ user, amount }) => ({ user, amount }))].sort((a, b) => b.amount - a.amount).slice(0, 10);
}

// counted keeps the figures from before a rain, and counts its players. The counts of the last rain stay until the next
// one begins: they may still be on the board.
function counted(s: State, t: number): State {
  if (!s.rain) return s;
  const id = s.rain.id;
  const known = [s.round, s.ahead].find((r) => r?.rain === id) ?? { rain: id, before: null, players: 0 };
  switch (phaseOf(s.rain, t)) {
    case "countdown":
      return { ...s, ahead: { ...known, before: s.figures } };
    case "falling":
      return { ...s, round: { ...known, players: Math.max(known.players, s.figures?.online ?? 0) } };
    case "ended":
      return ended(s, t) === null ? s : { ...s, round: known };
    default:
      return { ...s, round: known };
  }
}
