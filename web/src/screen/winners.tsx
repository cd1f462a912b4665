// The newest winners, rolling in from above.

import { money, wide } from "./parts.tsx";
import type { Entry } from "./state.ts";
import { T, useWords } from "./words.tsx";

/** Winners shows as many of the list as there is room for: the rest is cut off below. */
export function Winners({ winners }: { winners: readonly Entry[] }) {
  const words = useWords();
  const newest = winners[0]?.id ?? 0;
  return (
    <section class="winners">
      <h2><T k="winners" /></h2>
      {winners.length === 0 && <p class="nobody"><T k="no_winners" /></p>}
      <ol id="winners">
        {winners.map((w) => (
          // A row's place follows from how many have come since: it glides down when others come in above it.
          <Row key={w.id} row={newest - w.id} name={words.name(w.user)} amount={money(w.amount)} />
        ))}
      </ol>
    </section>
  );
}

function Row({ row, name, amount }: { row: number; name: string; amount: string }) {
  return (
    <li style={{ "--row": row, "--chars": wide(name) + amount.length }}>
      <span>{name}</span>
      <b>{amount}</b>
    </li>
  );
}
