// The newest winners, rolling in from above.

import { pictureOf } from "../shared/faces.ts";
import { Avatar, money, wide } from "./parts.tsx";
import type { Entry } from "./state.ts";
import { T, useWords } from "./words.tsx";

const AVATAR = 2; // letters that a picture is wide
const LONG = 20; // letters of a name for which the line gets smaller; of more the end is left out

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
          <Row key={w.id} row={newest - w.id} name={words.of(w)} avatar={pictureOf(w)} amount={money(w.amount)} />
        ))}
      </ol>
    </section>
  );
}

function Row({ row, name, avatar, amount }: { row: number; name: string; avatar: string | undefined; amount: string }) {
  return (
    <li style={{ "--row": row, "--chars": Math.min(wide(name), LONG) + amount.length + (avatar ? AVATAR : 0) }}>
      <span><Avatar address={avatar} /><bdi>{name}</bdi></span>
      <b>{amount}</b>
    </li>
  );
}
