// Numbers and times as a person reads them. Every function takes a value of the API and returns "–" without one, so
// that a field missing on an older server shows as a dash.

import { yuan as plain } from "../shared/money.ts";

/** NOTHING stands where there is no value. */
export const NOTHING = "–";

type Maybe = number | null | undefined;

/** count groups an integer: 3820 is "3,820". */
export function count(n: Maybe): string {
  return n == null ? NOTHING : String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** rate is a figure per second: one decimal below 10, none above. */
export function rate(n: Maybe): string {
  if (n == null) return NOTHING;
  return n < 9.95 ? n.toFixed(1) : count(n);
}

/** money is minor units with the sign of the currency: 763880 is "¥7,638.80". */
export function money(minor: Maybe): string {
  if (minor == null) return NOTHING;
  return minor < 0 ? `-¥${plain(-minor)}` : `¥${plain(minor)}`;
}

/** roughly is an estimate of money: whole yuan from ¥100 on. */
export function roughly(minor: number): string {
  return minor < 10_000 ? money(minor) : `¥${count(minor / 100)}`;
}

/** millis is a latency: "0.42 ms", "8.1 ms", "130 ms", "2.4 s". */
export function millis(ms: Maybe): string {
  if (ms == null) return NOTHING;
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 100) return `${ms.toFixed(1)} ms`;
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

/** percent is a part of a whole; 0 if the whole is 0. It is never rounded up to 100. */
export function percent(part: number, whole: number): string {
  if (whole <= 0) return "0%";
  const p = (100 * part) / whole;
  return `${p > 0 && p < 10 ? p.toFixed(1) : Math.floor(p)}%`;
}

const two = (n: number) => String(n).padStart(2, "0");

/** date is the day, in this computer's time zone: "2025-11-21". The same in both languages. */
export function date(ms: number): string {
  const d = new Date(ms);
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
}

/** clock is the time of day, in this computer's time zone: "12:03:21". */
export function clock(ms: number): string {
  const d = new Date(ms);
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

/** when is date and clock. */
export function when(ms: Maybe): string {
  return ms == null ? NOTHING : `${date(ms)} ${clock(ms)}`;
}

/** moment is the time of day, with the date if it is another day than today. */
export function moment(ms: number): string {
  return date(ms) === date(Date.now()) ? clock(ms) : when(ms);
}

/** zone names this computer's time zone: "Asia/Shanghai (UTC+08:00)". */
export function zone(ms: number): string {
  const minutes = -new Date(ms).getTimezoneOffset();
  const m = Math.abs(minutes);
  const offset = `UTC${minutes < 0 ? "-" : "+"}${two(Math.floor(m / 60))}:${two(m % 60)}`;
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return name && name !== "UTC" ? `${name} (${offset})` : offset;
}

/** seconds is a duration in milliseconds as seconds, without needless decimals: "10", "2.5". The unit is the text's. */
export function seconds(ms: Maybe): string {
  return ms == null ? NOTHING : String(Number((ms / 1_000).toFixed(3)));
}
