// Amounts as people write them.

import { yuan } from "../../shared/money.ts";
import { MAX_LISTED } from "./limits.ts";

/**
 * readYuan reads an amount in yuan as minor units; null if it is none. It accepts the input of Chinese keyboards and
 * spreadsheets: full-width digits, ¥ or 元, and commas between thousands. It uses no float.
 */
export function readYuan(text: string): number | null {
  const plain = text.normalize("NFKC").trim().replace(/^¥\s*|\s*元$/g, "");
  const m = /^(\d{1,14}|\d{1,3}(?:,\d{3}){1,4})(?:\.(\d{1,2}))?$/.exec(plain);
  if (!m?.[1]) return null;
  return Number(m[1].replaceAll(",", "")) * 100 + Number((m[2] ?? "").padEnd(2, "0"));
}

/** readCount reads a whole number, with or without commas between thousands; null for anything else. */
export function readCount(text: string): number | null {
  const plain = text.normalize("NFKC").trim();
  return /^(\d{1,12}|\d{1,3}(,\d{3}){1,3})$/.test(plain) ? Number(plain.replaceAll(",", "")) : null;
}

/** The content of a pasted list of amounts. Money is in minor units. */
export interface AmountList {
  amounts: number[];
  sum: number;
  /** The first entry that is no amount, and its position from 1; null if there is none. */
  bad: { text: string; at: number } | null;
  /** Whether the list has more packets than allowed; then the rest is not read. */
  tooMany: boolean;
}

/**
 * readAmounts reads amounts in yuan, one a line or separated by commas, semicolons or spaces. "8.88×100" is a hundred
 * packets of 8.88.
 */
export function readAmounts(text: string): AmountList {
  const list: AmountList = { amounts: [], sum: 0, bad: null, tooMany: false };
  let at = 0;
  // Spaces around a × or behind a ¥ belong to the amount.
  const plain = text.normalize("NFKC").replace(/\s*[x×*]\s*/gi, "×").replace(/¥\s+/g, "¥");
  for (const m of plain.matchAll(/[^\s,;、]+/g)) {
    at++;
    const [one = "", times = "1", ...rest] = m[0].split("×");
    const amount = readYuan(one);
    const count = readCount(times);
    if (amount === null || count === null || rest.length > 0) {
      list.bad ??= { text: m[0], at };
      continue;
    }
    if (list.amounts.length + count > MAX_LISTED) {
      list.tooMany = true;
      return list;
    }
    for (let i = 0; i < count; i++) list.amounts.push(amount);
    list.sum += amount * count;
  }
  return list;
}

/** writeAmounts is the inverse of readAmounts. Equal neighbours become one line. */
export function writeAmounts(amounts: readonly number[]): string {
  const lines: string[] = [];
  for (let i = 0; i < amounts.length; ) {
    let end = i;
    while (end < amounts.length && amounts[end] === amounts[i]) end++;
    const text = plainYuan(amounts[i] ?? 0);
    lines.push(end - i > 1 ? `${text}×${end - i}` : text);
    i = end;
  }
  return lines.join("\n");
}

/** plainYuan formats minor units for a field: no commas between thousands. */
export function plainYuan(amount: number): string {
  return yuan(amount).replaceAll(",", "");
}
