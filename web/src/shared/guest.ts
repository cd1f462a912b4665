// A guest of this browser, who stays the same player for as long as the page is used now and then.

import { ApiError, request } from "./api.ts";
import { within } from "./patience.ts";
import type { Challenge, Guest as Answer } from "./schemas.ts";

const PATIENCE = 10_000; // ms for an answer
const TRIES = 4; // proofs: meanwhile other guests of the address may have raised the work

/** Meet solves a challenge, and returns the proof. */
export type Meet = (challenge: Challenge) => Promise<string>;

/** Guest is the stored identity of a guest. */
export interface Guest {
  token: string;
  expires_at: number;
  /** The generated name; old pages have not kept it. */
  user?: string;
  /** When the token was given, by this device; old pages have not kept it. */
  since?: number;
}

/** newGuest creates a guest, and solves the server's challenge if meet is given. */
export async function newGuest(meet: Meet | null): Promise<Guest> {
  let proof: string | null = null;
  for (let tries = 0; ; tries++) {
    try {
      return kept(await request<Answer>("/guests", { method: "POST", signal: within(PATIENCE), ...(proof === null ? {} : { body: { proof } }) }));
    } catch (fault) {
      if (!(fault instanceof ApiError) || !fault.challenge || !meet || tries === TRIES) throw fault;
      proof = await meet(fault.challenge);
    }
  }
}

/** due reports whether half of the life of a guest's token is over. */
export function due(guest: Guest): boolean {
  return Date.now() > ((guest.since ?? 0) + guest.expires_at) / 2;
}

/**
 * renewed is the same guest with a token for longer. A guest whose token the server takes no more is gone, and another one comes; where
 * only the renewal fails, the token that there is goes on.
 */
export async function renewed(guest: Guest, meet: Meet | null): Promise<Guest> {
  try {
    return kept(await request<Answer>("/me/token", { method: "POST", token: guest.token, signal: within(PATIENCE) }));
  } catch (fault) {
    if (fault instanceof ApiError && fault.status === 401) return newGuest(meet);
    return guest;
  }
}

function kept({ user, token, expires_at }: Answer): Guest {
  return { user, token, expires_at, since: Date.now() };
}
