// The text in the middle of the page: a pure function of the state.

import type { Campaign, Rain } from "../../sdk/index.ts";
import { countdown, phaseOf } from "../rain/phase.ts";
import type { Values } from "../shared/i18n.ts";
import type { Key } from "./strings.ts";

const SHOUT = 900; // ms for which "Go!" stays
const LARGE = 10_000; // ms before the start when the large numbers begin; before that a calm clock is shown

/** Mode is also the page's data-mode, for the style sheets. */
export type Mode = "landing" | "entering" | "waiting" | "countdown" | "falling" | "paused" | "over" | "problem";

/** Problem is the reason why the player cannot play. */
export interface Problem {
  title: Key;
  hint: Key;
  values?: Values;
  /** there may be another event to play */
  other?: true;
}

/** Scenery is the input of stage. stock is null until the server has sent it. */
export interface Scenery {
  problem: Problem | null;
  campaign: Pick<Campaign, "state" | "wins_per_user"> | null;
  rain: Pick<Rain, "phase" | "starts_at" | "ends_at"> | null;
  stock: number | null;
  /** stock is the player's part: others can win other packets */
  lanes?: boolean;
  /** the public data of the event */
  about?: { guests?: boolean; logins?: readonly string[] } | null;
  /** no player is signed in yet */
  landing?: boolean;
  /** when this page joined the room, Unix ms of the server: late players see "Go!" as well */
  since?: number;
  /** how many packets the player has */
  packets?: number;
  /** queue position, and expected time of admission, Unix ms of the server; 0: unknown */
  queue?: { position: number; till: number } | null;
}

/** Stage has keys of texts, or a value to show unchanged (`big`). */
export interface Stage {
  mode: Mode;
  title?: Key;
  hint?: Key;
  values?: Values | undefined;
  /** the time until the rain, or until the admission, ms */
  when?: number;
  /** a number or clock, or the key "go" */
  big?: string;
  /** the time is long: no animation */
  calm?: boolean;
  /** whether the campaign's name and rule are shown */
  about?: boolean;
  /** a line while it rains */
  note?: { key: Key; values: Values };
}

/** stage returns the texts; t is the server's time, and soon the public time until a rain, ms. */
export function stage(s: Scenery, t: number, soon = 0): Stage {
  const { problem, campaign, rain, stock, lanes } = s;
  if (problem) return { mode: "problem", title: problem.title, hint: problem.hint, values: problem.values };
  if (s.landing) return { mode: "landing", title: "title", when: soon, hint: s.about?.guests === false && !s.about.logins?.length ? "signin_hint" : "landing_hint", about: true };
  if (s.queue) return queued(s.queue, t);
  if (!campaign) return { mode: "entering", title: "entering" };
  if (campaign.state === "closed") return { mode: "over", title: "closed_title", hint: "closed_hint" };
  const phase = phaseOf(rain, t);
  if (phase === "paused") return { mode: "paused", title: "paused_title", hint: "paused_hint" };
  if (rain && phase === "falling") return falling(s, t - Math.max(rain.starts_at, s.since ?? 0));
  if (rain && phase === "countdown") {
    const left = rain.starts_at - t;
    return { mode: "countdown", title: "next_rain", hint: "get_ready", big: countdown(left), calm: left > LARGE, about: true };
  }
  if (stock === 0) return { mode: "over", title: lanes ? "lane_gone" : "sold_out_title", hint: "sold_out_hint" };
  if (campaign.state === "paused") return { mode: "paused", title: "paused_title", hint: "paused_hint" };
  return { mode: "waiting", title: "waiting", hint: "waiting_hint", about: true };
}

// queued shows a waiting player's queue position and the estimated wait.
function queued({ position, till }: NonNullable<Scenery["queue"]>, t: number): Stage {
  const at: Stage = { mode: "waiting", title: "queue_title", hint: "queue_hint", values: { n: position }, about: true };
  return till > t ? { ...at, hint: "queue_hint_time", when: till - t } : at;
}

// falling is a shout at first, with the countdown's texts, which are hidden but keep the shout in its place. Then it is
// only a line for players who cannot win any more.
function falling({ campaign, stock, lanes, packets = 0 }: Scenery, age: number): Stage {
  const at: Stage = age < SHOUT ? { mode: "falling", title: "next_rain", hint: "get_ready", big: "go", about: true } : { mode: "falling" };
  const max = campaign?.wins_per_user ?? 0;
  if (max > 0 && packets >= max) at.note = { key: max === 1 ? "note_full_one" : "note_full", values: { n: max } };
  else if (stock === 0) at.note = { key: lanes ? "lane_gone" : "note_sold_out", values: {} };
  return at;
}
