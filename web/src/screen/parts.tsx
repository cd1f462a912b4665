// What several scenes share: figures, amounts, clocks and names that fit whatever is in them.

import { countdown } from "../rain/phase.ts";
import { yuan } from "../shared/money.ts";
import type { Key } from "./strings.ts";
import { T } from "./words.tsx";

const TWO_LINES = 20; // letters from which a name is broken into two lines

const count = new Intl.NumberFormat("en");

/** number writes a count, in groups of three. null is a dash. */
export function number(n: number | null | undefined): string {
  return n === null || n === undefined ? "–" : count.format(n);
}

/** money writes an amount (minor units) with its sign. */
export function money(minor: number): string {
  return `¥${yuan(minor)}`;
}

/** wide is how wide a text is, in letters of the usual width: Chinese ones count twice. Sizes that fit are made of it. */
export function wide(text: string): number {
  let sum = 0;
  for (const c of text) sum += /[ᄀ-￿]/.test(c) || c.length > 1 ? 2 : /[MW@%]/.test(c) ? 1.45 : 1.08;
  return Math.ceil(sum);
}

/** Figure is a number with its name. */
export function Figure({ name, value, id }: { name: Key; value: string; id?: string }) {
  return (
    <div class="figure">
      <dt><T k={name} /></dt>
      <dd id={id} style={{ "--chars": Math.max(4, value.length) }}>{value}</dd>
    </div>
  );
}

/** Clock counts down to the next rain. left in ms. */
export function Clock({ left }: { left: number }) {
  const text = countdown(left);
  return (
    <p class="next">
      <span><T k="next_rain" /></span>
      <b id="clock" role="timer" aria-live="off">{text.includes(":") ? text : `0:${text.padStart(2, "0")}`}</b>
    </p>
  );
}

/** EventName is the campaign's name, as large as it fits. */
export function EventName({ name }: { name: string }) {
  const all = wide(name);
  return <h1 id="campaign" class="event" style={{ "--chars": Math.max(8, all > TWO_LINES ? Math.ceil(all * 0.62) : all) }}>{name}</h1>;
}
