// The server's checks of a campaign, made while a person types: the same limits, in a person's words.

import type { faults as texts } from "../strings/create.ts";
import type { NewSplit } from "../../shared/schemas.ts";
import { readAmounts, readCount, readYuan, type AmountList } from "./amounts.ts";
import { UNITS, type CampaignBody, type Draft, type Field } from "./draft.ts";
import * as limit from "./limits.ts";

/** Fault is the key of a text and its values; words (words.ts) makes the text. */
export interface Fault {
  key: keyof typeof texts;
  values?: Record<string, string | number>;
}

export type Faults = Partial<Record<Field, Fault>>;

/** Checked is a draft that was read. body is null if any field has a fault. split is null if no preview is possible. */
export interface Checked {
  faults: Faults;
  body: CampaignBody | null;
  split: SplitBody | null;
  list: AmountList | null;
}

/** SplitBody is the body that asks for a preview of a split, with every field set. */
export type SplitBody = Required<NewSplit>;

/** check reads a draft. Only the first fault of each field is reported. */
export function check(d: Draft, list: AmountList | null = d.split === "list" ? readAmounts(d.amounts) : null): Checked {
  const faults: Faults = {};
  const add = (field: Field, key: Fault["key"], values?: Fault["values"]): void => {
    faults[field] ??= values ? { key, values } : { key };
  };
  const number = (field: Field, read: (text: string) => number | null, wrong: Fault["key"]): number | null => {
    if (d[field].trim() === "") return add(field, "required"), null;
    const n = read(d[field]);
    if (n === null) add(field, wrong);
    return n;
  };

  const name = d.name.trim();
  if (name === "") add("name", "required");
  else if (limit.bytes(name) > limit.MAX_NAME_BYTES) add("name", "nameLong", { most: limit.MAX_NAME_BYTES, is: limit.bytes(name) });
  const sponsor = d.sponsor.trim();
  const wrong = sponsorFault(sponsor);
  if (wrong) add("sponsor", wrong, { most: limit.MAX_SPONSOR });

  // The budget and the number of packets follow from a list.
  const budget = list ? list.sum : number("budget", readYuan, "notMoney");
  const packets = list ? list.amounts.length : number("packets", readCount, "notCount");
  const min = number("min", readYuan, "notMoney");
  const max = d.max.trim() === "" ? null : number("max", readYuan, "notMoney");

  if (min !== null && (min < 1 || min > limit.MAX_BUDGET)) add("min", "minRange", { mMost: limit.MAX_BUDGET });
  if (min !== null && max !== null && max < min) add("max", "maxLow");
  if (list) checkList(list, min, max, add);
  else if (budget !== null && packets !== null) checkSize(budget, packets, add);
  const bounded = !faults.min && !faults.max && !faults.packets && !faults.budget;
  if (!list && bounded && budget !== null && packets !== null && min !== null) checkBounds(budget, packets, min, max, add);

  const counts = limit.eachCount((field) => {
    const { least, most } = limit.COUNTS[field];
    const n = number(field, readCount, "notCount") ?? least; // a fault is reported already
    if (n < least || n > most) add(field, least === 0 ? "fromZero" : "fromOne", { most });
    return n;
  });
  const share = d.guests_share.trim() === "" ? 0 : readShare(d.guests_share);
  if (share === null) add("guests_share", "shareRange");
  else if (share > 0 && packets !== null && !lanesFit(packets, share)) add("guests_share", "shareFew");
  const expiry = number("expires_in_ms", readDecimal, "notNumber");
  const expires = expiry === null ? null : Math.round(expiry * UNITS[d.unit]);
  if (expires !== null && (expires < limit.MIN_EXPIRY_MS || expires > limit.MAX_EXPIRY_MS)) add("expires_in_ms", "expiryRange");

  const amounts = list ? list.amounts : null;
  const cut = budget !== null && packets !== null && min !== null && !["budget", "packets", "min", "max", "amounts"].some((f) => f in faults)
    ? { budget, packets, split: d.split, min, max, amounts } : null;
  const whole = cut && expires !== null && Object.keys(faults).length === 0;
  return {
    faults, list, split: cut,
    body: whole ? {
      name, sponsor, ...cut, ...counts,
      players: d.players.trim() === "" ? null : { list: d.players.trim() }, guests_share: share ? share / 1e6 : null, expires_in_ms: expires,
    } : null,
  };
}

type Add = (field: Field, key: Fault["key"], values?: Fault["values"]) => void;

function checkSize(budget: number, packets: number, add: Add): void {
  if (budget < 1 || budget > limit.MAX_BUDGET) add("budget", "budgetRange", { mMost: limit.MAX_BUDGET });
  if (packets < 1 || packets > limit.MAX_PACKETS) add("packets", "packetsRange", { most: limit.MAX_PACKETS });
}

/** checkBounds compares by division: packets × max may be too large for an exact number. */
function checkBounds(budget: number, packets: number, min: number, max: number | null, add: Add): void {
  if (Math.floor(budget / packets) < min) add("budget", "budgetLow", { packets, mMin: min, mNeeded: packets * min });
  else if (max !== null && Math.floor((budget - 1) / packets) >= max) add("budget", "budgetHigh", { packets, mMax: max, mMost: packets * max });
}

function checkList(list: AmountList, min: number | null, max: number | null, add: Add): void {
  if (list.tooMany) return add("amounts", "packetsRange", { most: limit.MAX_LISTED });
  if (list.bad) return add("amounts", "listBad", { text: list.bad.text.slice(0, 20), at: list.bad.at });
  if (list.amounts.length === 0) return add("amounts", "listEmpty");
  const outside = list.amounts.findIndex((a) => (min !== null && a < min) || (max !== null && a > max) || a > limit.MAX_BUDGET);
  if (outside >= 0) return add("amounts", "listOutside", { at: outside + 1, mAmount: list.amounts[outside] ?? 0 });
  if (list.sum > limit.MAX_BUDGET) return add("amounts", "budgetRange", { mMost: limit.MAX_BUDGET });
  let size = 0;
  for (const a of list.amounts) size += String(a).length + 1;
  if (size > limit.MAX_LIST_BYTES) add("amounts", "listHuge");
}

/** sponsorFault is the fault of a sponsor's id, which becomes part of a path. */
export function sponsorFault(id: string): "required" | "sponsorChars" | "sponsorLong" | null {
  if (id === "") return "required";
  if (!/^[\p{L}\p{Nd}._-]+$/u.test(id) || /\p{Default_Ignorable_Code_Point}/u.test(id)) return "sponsorChars";
  return limit.bytes(id) > limit.MAX_SPONSOR ? "sponsorLong" : null;
}

// readShare reads percent as millionths; null if it is no share of the packets.
function readShare(text: string): number | null {
  const percent = readDecimal(text.replace(/\s*[%％]\s*$/, ""));
  const share = percent === null ? 0 : Math.round(percent * 1e4);
  return share > 0 && share < 1e6 ? share : null;
}

// lanesFit reports whether guests and players have at least one packet each.
function lanesFit(packets: number, share: number): boolean {
  const guests = Math.floor((packets * share) / 1e6);
  return guests >= 1 && packets - guests >= 1;
}

function readDecimal(text: string): number | null {
  const plain = text.normalize("NFKC").trim();
  return /^\d{1,9}(\.\d{1,6})?$/.test(plain) ? Number(plain) : null;
}
