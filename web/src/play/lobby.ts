// The campaign to play: the one in the address, or the server's current one.

import { ApiError, request } from "../shared/api.ts";
import { within } from "../shared/patience.ts";
import type * as schemas from "../shared/schemas.ts";

const PATIENCE = 10_000; // ms for an answer

const SPREAD_PART = 4; // pages join within this part of the time until a rain
const SPREAD_MOST = 3_000; // ms: the longest wait after a press

/**
 * Lobby is the campaign to open. An older server sends only its id. told is the time of the answer, by
 * performance.now().
 */
export type Lobby = Pick<schemas.Lobby, "campaign"> & Partial<schemas.Lobby> & { told?: number };

/** named is the campaign of ?campaign=, or null. */
export function named(url = new URL(location.href)): string | null {
  return url.searchParams.get("campaign") || null;
}

/** lobby asks for the current campaign, or for the one with an id; null if there is none. */
export async function lobby(campaign: string | null = null): Promise<Lobby | null> {
  try {
    const query = campaign ? `?campaign=${encodeURIComponent(campaign)}` : "";
    const l = await request<Lobby>(`/lobby${query}`, { signal: within(PATIENCE) });
    return l.campaign ? { ...l, told: performance.now() } : null;
  } catch (fault) {
    if (fault instanceof ApiError && fault.status === 404) return null;
    throw fault;
  }
}

/** left is the time until the rain, ms; 0 or less: no rain is announced. */
export function left(l: Pick<Lobby, "starts_in_ms" | "told"> | null, now = performance.now()): number {
  return (l?.starts_in_ms ?? 0) - (now - (l?.told ?? now));
}

/**
 * spread returns the time over which players join, ms. In a countdown a hall presses the button together, and there is
 * time. It is 0 in a rain, or if its start is unknown.
 */
export function spread(l: Pick<Lobby, "starts_in_ms" | "told"> | null, now = performance.now()): number {
  return Math.max(0, Math.min(SPREAD_MOST, left(l, now) / SPREAD_PART));
}

/** soon waits one to two times ms, so that a hall's requests do not come at once. */
export function soon(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms * (1 + Math.random())));
}
