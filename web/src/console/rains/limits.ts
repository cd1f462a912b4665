// The limits of a rain, as in rain.RainSpec.Validate. The form shows a fault while the operator types.

import type { NewRain, Pacing } from "../../shared/schemas.ts";

/** Limit is the least and the most of a field, in the unit of the API. */
export interface Limit {
  least: number;
  most: number;
  /** scale converts the form's unit to the API's: 1000 if the form asks for seconds. */
  scale: number;
  /** begin is the initial value in the form. */
  begin: string;
  /** unit is the form's: seconds, percent, or none. */
  unit: "unitS" | "%" | "";
}

export const LIMITS = {
  starts_in_ms: { least: 0, most: 7 * 86_400_000, scale: 1_000, begin: "10", unit: "unitS" },
  duration_ms: { least: 1_000, most: 600_000, scale: 1_000, begin: "10", unit: "unitS" },
  drops_per_second: { least: 1, most: 400, scale: 1, begin: "8", unit: "" },
  fall_ms: { least: 500, most: 20_000, scale: 1_000, begin: "4", unit: "unitS" },
  decoy_percent: { least: 0, most: 100, scale: 1, begin: "0", unit: "%" },
  odds: { least: 100, most: 99_900, scale: 1_000, begin: "25", unit: "%" }, // thousandths of a percent
  beat_ms: { least: 250, most: 10_000, scale: 1_000, begin: "1", unit: "unitS" },
} as const satisfies Record<string, Limit>;

export type LimitedField = keyof typeof LIMITS;
type PlainField = Exclude<LimitedField, "starts_in_ms" | "odds" | "beat_ms">;

/** The numbers that every rain has: those that the form always shows, and those under Advanced. */
export const SHOWN_FIELDS = ["duration_ms", "drops_per_second"] as const satisfies readonly PlainField[];
export const FOLDED_FIELDS = ["fall_ms", "decoy_percent"] as const satisfies readonly PlainField[];
const PLAIN_FIELDS: readonly PlainField[] = [...SHOWN_FIELDS, ...FOLDED_FIELDS];

/** MOST_AHEAD is the longest time, in ms, until the start of a rain. */
export const MOST_AHEAD = 7 * 86_400_000;

/** RainBody is the body that starts a rain. Every field is set but the start, which is one of two. */
export type RainBody = Required<Omit<NewRain, "starts_in_ms" | "starts_at">> & Pick<NewRain, "starts_in_ms" | "starts_at">;

/** RainForm is the typed content of the form. */
export interface RainForm extends Record<LimitedField, string> {
  /** at: the start is a time of day; otherwise a number of seconds from now. */
  at: boolean;
  /** starts_at is the value of a datetime-local field, in this computer's time zone. */
  starts_at: string;
  pacing: Pacing;
  /** luck: every packet drop wins, or players have draws. */
  luck: "all" | "auto" | "odds";
}

/** emptyForm is the initial form: the API's defaults, but for a longer countdown. */
export function emptyForm(): RainForm {
  const limited = Object.fromEntries(Object.entries(LIMITS).map(([field, { begin }]) => [field, begin])) as Record<LimitedField, string>;
  return { at: false, starts_at: "", ...limited, pacing: "none", luck: "all" };
}

/** Wrong is the fault of a field: not a number, out of its limits, a start in the past or too far ahead. */
export type Wrong = "number" | "whole" | "range" | "time" | "past" | "far";
export type Wrongs = Partial<Record<LimitedField | "starts_at", Wrong>>;

/** number reads a decimal number as a person types it; null for anything else. */
export function number(text: string): number | null {
  const s = text.trim().replace("，", ".").replace(",", ".");
  return /^\d{1,9}(\.\d{1,3})?$/.test(s) ? Number(s) : null;
}

/**
 * readRain returns the rain of a form, and the faults of its fields. now is the server's time; toServer converts a time
 * of this computer's clock to the server's.
 */
export function readRain(form: RainForm, now: number, toServer: (local: number) => number): { rain: RainBody | null; wrong: Wrongs } {
  const wrong: Wrongs = {};
  const read = (field: LimitedField): number => {
    const { least, most, scale } = LIMITS[field];
    const n = number(form[field]);
    const value = n === null ? NaN : Math.round(n * scale);
    if (n === null) wrong[field] = "number";
    else if (!Number.isInteger(n * scale) && scale === 1) wrong[field] = "whole";
    else if (value < least || value > most) wrong[field] = "range";
    return value;
  };
  const rain: RainBody = {
    ...(Object.fromEntries(PLAIN_FIELDS.map((field) => [field, read(field)])) as Record<PlainField, number>),
    pacing: form.pacing, odds: 1, beat_ms: 1_000,
  };
  if (form.luck === "auto") rain.odds = "auto";
  if (form.luck === "odds") rain.odds = read("odds") / 100_000;
  if (form.luck !== "all") rain.beat_ms = read("beat_ms");
  if (form.at) {
    const local = form.starts_at ? new Date(form.starts_at).getTime() : NaN;
    const at = Math.round(toServer(local));
    if (Number.isNaN(local)) wrong.starts_at = "time";
    else if (at < now) wrong.starts_at = "past";
    else if (at > now + MOST_AHEAD) wrong.starts_at = "far";
    rain.starts_at = at;
  } else {
    rain.starts_in_ms = read("starts_in_ms");
  }
  return { rain: Object.keys(wrong).length > 0 ? null : rain, wrong };
}

/** Preset is a common kind of rain. */
export interface Preset {
  key: "short" | "classic" | "long";
  form: Partial<RainForm>;
}

export const PRESETS: readonly Preset[] = [
  { key: "short", form: { duration_ms: "10", drops_per_second: "8", fall_ms: "4", decoy_percent: "0" } },
  { key: "classic", form: { duration_ms: "30", drops_per_second: "10", fall_ms: "4", decoy_percent: "10" } },
  { key: "long", form: { duration_ms: "60", drops_per_second: "6", fall_ms: "5", decoy_percent: "20" } },
];
