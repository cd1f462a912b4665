// The rain and the seconds before it. The packets are on the canvas behind; here is what stands over them.

import type { ComponentChildren } from "preact";

import { Facts, money, number } from "./parts.tsx";
import { JoinCorner } from "./qr.tsx";
import type { State } from "./state.ts";
import { Winners } from "./winners.tsx";
import { T } from "./words.tsx";

/** Countdown fills the screen with a number. */
export function Countdown({ state, number: n, join }: { state: State; number: number; join: string | null }) {
  return (
    <main class="countdown">
      <div class="rays" />
      <h1><T k="get_ready" /></h1>
      {/* The key makes a new element of each number, so that each has its own entrance. */}
      <p id="big" class={n > 9 ? "number two-digits" : "number"} role="timer" aria-live="off"><b key={n}>{n}</b></p>
      <p class="how"><T k="how" /></p>
      <p class="name">{state.campaign?.name}</p>
      <JoinCorner address={join} />
    </main>
  );
}

/** Falling is the rain: winners on one side, what is left below. */
export function Falling({ state, go, soldOut, paused, join }: { state: State; go: boolean; soldOut: boolean; paused: boolean; join: string | null }) {
  return (
    <main class="falling">
      <div class="open-sky">
        {go && !paused && <p class="go"><b><T k="go" /></b></p>}
        {paused && <Plate title={<T k="paused" />} line={<T k="paused_hint" />} />}
        {soldOut && !paused && (
          <Plate gold title={<T k="sold_out" />} line={<T k="sold_out_hint" v={{ n: number(state.campaign?.packets) }} />} />
        )}
      </div>
      <aside class="side">
        <Winners winners={state.winners} />
        <JoinCorner address={join} />
      </aside>
      <Band state={state} />
    </main>
  );
}

function Plate({ title, line, gold = false }: { title: ComponentChildren; line: ComponentChildren; gold?: boolean }) {
  return (
    <div class={gold ? "plate gold-plate" : "plate"}>
      <h1 id="title">{title}</h1>
      <p>{line}</p>
    </div>
  );
}

// Band is what is left, as a number and as a bar, and the figures of the room.
function Band({ state: { campaign, figures } }: { state: State }) {
  const all = campaign?.packets ?? 0;
  const part = figures && all > 0 ? Math.min(1, figures.stock / all) : 0;
  return (
    <footer class="band">
      <div class="stock">
        <p class="stock-line">
          <span><T k="left" /></span>
          <b id="stock">{number(figures?.stock)}</b>
          <small><T k="of" v={{ n: number(all) }} /></small>
        </p>
        <div class="track"><div style={{ transform: `scaleX(${part.toFixed(4)})` }} /></div>
      </div>
      <Facts
        facts={[
          ...(figures && figures.amount !== null ? [{ name: "amount_won", id: "amount", value: money(figures.amount) } as const] : []),
          { name: "online", id: "online", value: number(figures?.online) },
        ]}
      />
    </footer>
  );
}
