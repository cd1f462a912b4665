// Between the rains: what it is, when it goes on, and how to join.

import { Clock, EventName, Facts, money, number } from "./parts.tsx";
import { JoinCard } from "./qr.tsx";
import type { State } from "./state.ts";
import type { Key } from "./strings.ts";
import { T, useWords } from "./words.tsx";

/** Waiting is the poster of the event. line is what is said while no rain is announced; left is the time to the next, in ms. */
export function Waiting({ state, left, line, join }: { state: State; left: number | null; line: Key; join: string | null }) {
  const words = useWords();
  const { campaign, figures } = state;
  return (
    <main class="waiting">
      <div class="poster">
        <p class="eyebrow"><T k="rain" /></p>
        <EventName name={campaign?.name ?? words.t(state.nothing ? "none" : "rain")} />
        {left === null ? <p class="line"><T k={line} /></p> : <Clock left={left} />}
        {campaign && (
          <Facts
            facts={[
              { name: "pool", id: "pool", value: money(campaign.budget) },
              { name: "packets", id: "packets", value: number(campaign.packets) },
              { name: "online", id: "online", value: number(figures?.online) },
              ...(figures?.waiting ? [{ name: "waiting" as const, id: "waiting", value: number(figures.waiting) }] : []),
            ]}
          />
        )}
      </div>
      <JoinCard address={join} />
    </main>
  );
}
