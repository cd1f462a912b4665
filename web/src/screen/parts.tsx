// What several scenes share: figures, amounts, clocks and names that fit whatever is in them.

import { Fragment } from "preact";
import { useState } from "preact/hooks";

import { countdown } from "../rain/phase.ts";
import { phrases } from "../shared/phrases.ts";
import { yuan } from "../shared/money.ts";
import type { Key } from "./strings.ts";
import { T } from "./words.tsx";

const TWO_LINES = 24; // letters from which a name is broken into two lines
const SHORTEST = 8; // letters for which there is room in any case: the names of the figures need it

const count = new Intl.NumberFormat("en");

/** number writes a count, in groups of three. null is a dash. */
export function number(n: number | null | undefined): string {
  return n === null || n === undefined ? "–" : count.format(n);
}

/** money writes an amount (minor units) with its sign. */
export function money(minor: number): string {
  return `¥${yuan(minor)}`;
}

/** wide is how wide a text is at most, in halves of a Chinese letter. Sizes that fit are made of it. */
export function wide(text: string): number {
  let sum = 0;
  for (const c of text) sum += /[ᄀ-￿]/.test(c) || c.length > 1 ? 2 : 1.28;
  return Math.ceil(sum);
}

/** Fact is a number with its name. id is for tests. */
export interface Fact {
  name: Key;
  value: string;
  id: string;
}

/** Facts stand side by side in letters of one size, and each has as much room as it needs. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  const room = facts.map((f) => Math.max(SHORTEST, f.value.length));
  const columns = room.map((n) => `minmax(0, ${n}fr)`).join(" ");
  return (
    <div class="facts">
      <dl style={{ gridTemplateColumns: columns, "--chars": room.reduce((a, b) => a + b, 0) }}>
        {facts.map((f) => (
          <div key={f.name}>
            <dt><T k={f.name} /></dt>
            <dd id={f.id}>{f.value}</dd>
          </div>
        ))}
      </dl>
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
  return <h1 id="campaign" class="event phrases" style={{ "--chars": Math.max(8, all > TWO_LINES ? Math.ceil(all * 0.66) : all) }}>{phrases(name).map((p, i) => <Fragment key={i}>{i > 0 && <wbr />}{p}</Fragment>)}</h1>;
}

/** Avatar is the picture of a player. One that cannot be loaded leaves no hole: the name says who it is. */
export function Avatar({ address }: { address: string | undefined }) {
  if (!address) return null;
  const gone = (e: Event): void => {
    if (e.target instanceof HTMLElement) e.target.hidden = true;
  };
  return <img key={address} class="avatar" src={address} alt="" referrerpolicy="no-referrer" onError={gone} />;
}

/** Face is the picture of a player in a place of its own, where there is none or it cannot be loaded the first letter of the name. */
export function Face({ address, name }: { address: string | undefined; name: string }) {
  const [broken, breaks] = useState<string>();
  if (!address || address === broken) return <span class="avatar letter" aria-hidden="true">{[...name][0]}</span>;
  return <img key={address} class="avatar" src={address} alt="" referrerpolicy="no-referrer" onError={() => breaks(address)} />;
}
