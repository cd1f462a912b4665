// A campaign that is being written: the texts of the form.

import type { Campaign, NewCampaign, Split } from "../../shared/schemas.ts";
import { plainYuan, writeAmounts } from "./amounts.ts";
import { COUNTS, eachCount, type Count } from "./limits.ts";

/** CampaignBody is the body that creates a campaign, with every field set. */
export type CampaignBody = Required<NewCampaign>;

export const SPLITS: readonly Split[] = ["double_mean", "low_variance", "gaussian", "even", "list"];

/** Units of the expiry's field, in ms. */
export const UNITS = { seconds: 1_000, minutes: 60_000, hours: 3_600_000, days: 86_400_000 } as const;
export type Unit = keyof typeof UNITS;

/** Draft holds the texts of the form's fields, by the API's names. Money is in yuan. */
export interface Draft extends Record<Count, string> {
  name: string;
  sponsor: string;
  budget: string;
  packets: string;
  split: Split;
  min: string;
  /** Empty: no limit. */
  max: string;
  /** With the split list only. */
  amounts: string;
  /** The name of the list of players who may take part; "" is everybody. */
  players: string;
  /** The guests' share of the packets, in percent; "": guests and players win from one stock. */
  guests_share: string;
  /** In units of `unit`. */
  expires_in_ms: string;
  unit: Unit;
}

/** Field is a field that can have a fault. */
export type Field = Exclude<keyof Draft, "unit">;

/** emptyDraft has the contract's defaults. */
export function emptyDraft(): Draft {
  return {
    name: "", sponsor: "", budget: "", packets: "", split: "double_mean", min: "0.01", max: "", amounts: "",
    ...eachCount((field) => String(COUNTS[field].begin)), players: "", guests_share: "", expires_in_ms: "24", unit: "hours",
  };
}

/** draftOf copies a campaign into a draft and gives it a new name. */
export function draftOf(c: Pick<Campaign, keyof NewCampaign>): Draft {
  const unit = (["days", "hours", "minutes"] as const).find((u) => c.expires_in_ms % UNITS[u] === 0) ?? "seconds";
  return {
    name: nextName(c.name), sponsor: c.sponsor, budget: plainYuan(c.budget), packets: String(c.packets), split: c.split,
    min: plainYuan(c.min), max: c.max === null ? "" : plainYuan(c.max), amounts: c.amounts ? writeAmounts(c.amounts) : "",
    ...eachCount((field) => String(c[field])), players: c.players?.list ?? "",
    guests_share: c.guests_share == null ? "" : String(Math.round(c.guests_share * 1e6) / 1e4),
    expires_in_ms: String(c.expires_in_ms / UNITS[unit]), unit,
  };
}

/** nextName numbers a name: "Gala" is followed by "Gala (2)", that by "Gala (3)". */
export function nextName(name: string): string {
  const m = /^(.*\S)\s*\((\d{1,6})\)$/.exec(name);
  return m ? `${m[1]} (${Number(m[2]) + 1})` : `${name} (2)`;
}
