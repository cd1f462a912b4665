// A guest of this browser, who stays the same player while the page is used now and then.

import { ApiError, request } from "./api.ts";
import { within } from "./patience.ts";
import type { Challenge, Face, Guest as Answer } from "./schemas.ts";

const PATIENCE = 10_000; // ms for an answer
const TRIES = 4; // proofs: other guests of the address may raise the difficulty meanwhile

/** Meet solves a challenge, and returns the proof. */
export type Meet = (challenge: Challenge) => Promise<string>;

/** Wish is the name and the face that a guest has chosen. The server draws what is missing. */
export interface Wish {
  name?: string;
  face?: Face;
}

/** Guest is the stored identity of a guest. */
export interface Guest {
  token: string;
  expires_at: number;
  /** The generated name; older pages have not stored it. */
  user?: string;
  /** Time of the token by this device's clock; older pages have not stored it. */
  since?: number;
}

/** newGuest creates a guest, and solves the server's challenge if meet is given. */
export async function newGuest(meet: Meet | null, wish: Wish = {}): Promise<Guest> {
  const body: Wish & { proof?: string } = { ...wish };
  for (let tries = 0; ; tries++) {
    try {
      return kept(await request<Answer>("/guests", { method: "POST", signal: within(PATIENCE), body }));
    } catch (fault) {
      if (!(fault instanceof ApiError) || !fault.challenge || !meet || tries === TRIES) throw fault;
      body.proof = await meet(fault.challenge);
    }
  }
}

/** due reports whether a guest's token is past half of its life. */
export function due(guest: Guest): boolean {
  return Date.now() > ((guest.since ?? 0) + guest.expires_at) / 2;
}

/**
 * renewed returns the same guest with a newer token. If the server does not accept the token any more, it returns a new
 * guest. If only the renewal fails, the guest keeps the old token.
 */
export async function renewed(guest: Guest, meet: Meet | null, wish?: Wish): Promise<Guest> {
  try {
    return await called(guest);
  } catch (fault) {
    if (fault instanceof ApiError && fault.status === 401) return newGuest(meet, wish);
    return guest;
  }
}

/** called returns the same guest with a newer token, under another name if there is a wish. */
export async function called(guest: Guest, wish: Wish = {}): Promise<Guest> {
  return kept(await request<Answer>("/me/token", { method: "POST", token: guest.token, signal: within(PATIENCE), body: wish }));
}

function kept({ user, token, expires_at }: Answer): Guest {
  return { user, token, expires_at, since: Date.now() };
}
