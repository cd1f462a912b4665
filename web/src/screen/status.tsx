// The small mark in the corner, for who runs the wall: the hall need not notice it.

import type { State } from "./state.ts";
import type { Key } from "./strings.ts";
import { T } from "./words.tsx";

const REASONS: Record<number, Key> = { 401: "need_token", 403: "need_token", 4500: "need_token", 4502: "unknown_campaign" };

/** Status says that the connection is lost, and why it was refused where that is known. */
export function Status({ state: { link, refused } }: { state: State }) {
  return (
    <p id="status" class="status" role="status" hidden={link !== "away"}>
      {link === "away" && (refused ? <T k={REASONS[refused] ?? "refused"} v={{ code: refused }} /> : <T k="away" />)}
    </p>
  );
}
