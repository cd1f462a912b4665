// The number of orders that wait for a second person, for the page's head. It is loaded while an operator with the
// right to decide is signed in.

import { api, type Page } from "../api.ts";
import { useInterval, useLoad } from "../hooks.ts";
import type { Approval } from "../../shared/schemas.ts";
import { may, useStanding } from "../session.ts";

const EVERY = 15_000; // ms
const LIMIT = 50;
let reload = () => {};

/** usePending returns the number of waiting orders as text: "3", or "50+"; "" without orders or without the right to
 * decide. */
export function usePending(): string {
  const standing = useStanding();
  const wanted = standing.is === "in" && !standing.lapsed && may("approvals");
  const load = useLoad(async (signal) => (wanted ? api<Page<Approval>>(`/approvals?state=pending&limit=${LIMIT}`, { signal }) : undefined), [wanted]);
  reload = load.reload;
  useInterval(() => load.loading || load.reload(), wanted ? EVERY : 0);
  const n = load.data?.items.length ?? 0;
  return n === 0 ? "" : load.data?.next_cursor ? `${n}+` : String(n);
}

/** countAgain is called after a request or a decision. */
export function countAgain(): void {
  reload();
}
