// Which campaign to play: the one named in the address, or the one that the server has on now.

import { ApiError, request } from "../shared/api.ts";
import { within } from "../shared/patience.ts";
import type * as schemas from "../shared/schemas.ts";

const PATIENCE = 10_000; // ms for an answer

/** Lobby is the campaign to open. An older server tells its id alone. */
export type Lobby = Pick<schemas.Lobby, "campaign"> & Partial<schemas.Lobby>;

/** named is the campaign of ?campaign=, or null. */
export function named(url = new URL(location.href)): string | null {
  return url.searchParams.get("campaign") || null;
}

/** lobby asks for the campaign that is on, or for the one with an id; null when there is none. */
export async function lobby(campaign: string | null = null): Promise<Lobby | null> {
  try {
    const query = campaign ? `?campaign=${encodeURIComponent(campaign)}` : "";
    const l = await request<Lobby>(`/lobby${query}`, { signal: within(PATIENCE) });
    return l.campaign ? l : null;
  } catch (fault) {
    if (fault instanceof ApiError && fault.status === 404) return null;
    throw fault;
  }
}

/** current is the id of the campaign that is on; null when there is none. */
export async function current(): Promise<string | null> {
  return (await lobby())?.campaign ?? null;
}

/** soon is a wait of one to two times ms: everybody in the hall asks, but not at once. */
export function soon(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms * (1 + Math.random())));
}
