// The number of held wins, for the head and the page.

import { useEffect } from "preact/hooks";
import { api } from "../api.ts";
import { useInterval, useLoad } from "../hooks.ts";
import type { HeldSum } from "../../shared/schemas.ts";

const EVERY = 30_000; // ms
const reloads = new Set<() => void>();

/** useHeld returns the number of held wins and their sum; undefined while unknown. */
export function useHeld(): HeldSum | undefined {
  const load = useLoad((signal) => api<HeldSum>("/risk", { signal }), []);
  useInterval(() => load.loading || load.reload(), EVERY);
  useEffect(() => {
    reloads.add(load.reload);
    return () => void reloads.delete(load.reload);
  }, [load.reload]);
  return load.data;
}

/** countHeldAgain is called after a decision. */
export function countHeldAgain(): void {
  for (const reload of reloads) reload();
}
