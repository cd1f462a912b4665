// After a rain: what was given, and who has won most.

import type { Winner } from "../../sdk/redrain.d.ts";
import { pictureOf } from "../shared/faces.ts";
import { Clock, Face, type Fact, Facts, money, number, wide } from "./parts.tsx";
import { JoinCorner } from "./qr.tsx";
import type { State } from "./state.ts";
import type { Key } from "./strings.ts";
import { T, type Words, useWords } from "./words.tsx";

const LONG = 24; // letters of a name for which the lines get smaller; of more the end is left out
const STEPS = [2, 1, 3]; // the first stands in the middle

/** Board is the result. left is the time to the next rain in ms, null where none is announced; finale: there will be none. */
export function Board({ state, left, finale, join }: { state: State; left: number | null; finale: "closed" | "sold_out" | null; join: string | null }) {
  const words = useWords();
  const title: Key = finale === null ? "board" : `finale_${finale}`;
  // The winners are those of all rains, above them stand the figures of one: the first may have more than was given in it.
  const ofAll = finale === null && (state.round?.before?.won ?? 0) > 0;
  const faces = state.top.slice(0, STEPS.length).some(pictureOf);
  const others = state.top.slice(3, finale === null ? 7 : 8);
  return (
    <main class="board">
      <header>
        <p class="name">{state.campaign?.name}</p>
        <h1 id="title" style={{ "--chars": words.wide(title, wide) }}><T k={title} /></h1>
      </header>
      <Facts facts={totals(state, finale !== null)} />
      <div class={others.length > 0 ? "lower" : "lower few"}>
        <section class="top">
          <h2><T k={ofAll ? "top_so_far" : "top"} /></h2>
          {state.top.length === 0 ? <p class="nobody"><T k={state.figures?.won === 0 ? "nobody_won" : "no_top"} /></p> : <ol class="podium">{STEPS.map((n) => <Step key={n} n={n} winner={state.top[n - 1]} faces={faces} />)}</ol>}
        </section>
        {(others.length > 0 || finale === null) && (
          <div class="beside">
            {others.length > 0 && <ol class="runners-up" start={4} style={{ "--chars": longest(others, words) }}>{others.map((w, i) => <RunnerUp key={i} n={i + 4} winner={w} />)}</ol>}
            {finale === null && (
              <footer class="foot">
                <JoinCorner address={join} />
                {left === null ? <p class="line"><T k="stay" /></p> : <Clock left={left} />}
              </footer>
            )}
          </div>
        )}
      </div>
    </main>
  );
}

// longest is the length of the longest line: all have letters of one size.
function longest(winners: readonly Winner[], words: Words): number {
  return Math.max(...winners.map((w) => Math.min(wide(words.of(w)), LONG) + money(w.amount).length));
}

// Where one of the three has a picture, all have the place for it: what stands on a step takes of its height.
function Step({ n, winner, faces }: { n: number; winner: Winner | undefined; faces: boolean }) {
  const words = useWords();
  if (!winner) return <li class={`step step-${n} vacant`} aria-hidden="true" />;
  const name = words.of(winner);
  const amount = money(winner.amount);
  return (
    <li class={`step step-${n}`} aria-label={`${words.t("place", { n })}: ${name}, ${amount}`}>
      {faces && <Face address={pictureOf(winner)} name={name} />}
      <span class="who" style={{ "--chars": Math.max(6, wide(name)) }}><bdi>{name}</bdi></span>
      <b style={{ "--chars": Math.max(6, amount.length) }}>{amount}</b>
      <span class="block" aria-hidden="true">{n}</span>
    </li>
  );
}

function RunnerUp({ n, winner }: { n: number; winner: Winner }) {
  const words = useWords();
  return (
    <li>
      <i>{n}</i>
      <span><bdi>{words.of(winner)}</bdi></span>
      <b>{money(winner.amount)}</b>
    </li>
  );
}

// totals are the figures of the last rain; of the whole campaign at its end, and where the screen has not seen the rain begin.
function totals({ figures, round }: State, all: boolean): Fact[] {
  if (!figures || figures.won === 0) return [];
  const before = all ? null : (round?.before ?? null);
  const found: Fact[] = [{ name: before ? "given_round" : "given_all", id: "given", value: number(figures.won - (before?.won ?? 0)) }];
  if (figures.amount !== null && (!before || before.amount !== null)) {
    found.push({ name: before ? "amount_round" : "amount_all", id: "amount", value: money(figures.amount - (before?.amount ?? 0)) });
  }
  if (!all && round && round.players > 0) found.push({ name: "players_round", id: "players", value: number(round.players) });
  return found;
}
