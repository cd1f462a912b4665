// A player who has signed in, with a token that their platform or an operator has made.

import { request } from "./api.ts";
import { within } from "./patience.ts";
import type { Guest as Answer } from "./schemas.ts";

const PATIENCE = 10_000; // ms for an answer

/** Player is what the browser keeps of somebody who has signed in. */
export interface Player {
  user: string;
  token: string;
  expires_at: number;
}

/** signIn exchanges the code of a link. It works once: where it fails for good, the code is worth nothing. */
export async function signIn(code: string): Promise<Player> {
  const { user, token, expires_at } = await request<Answer>("/login", { method: "POST", body: { code }, signal: within(PATIENCE) });
  return { user, token, expires_at };
}

/** Claims are what a token says of its owner; the server alone can tell whether it is true. */
export interface Claims {
  sub: string;
  /** what the player is called by; "" where it does not say */
  name: string;
  /** Unix s */
  exp: number;
}

/** claimsOf reads a token; null where it is none. */
export function claimsOf(token: string): Claims | null {
  const [, payload = "", signature] = token.split(".");
  if (!signature) return null;
  try {
    const bytes = Uint8Array.from(atob(payload.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
    const claims = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown> | null;
    const text = (v: unknown): string => (typeof v === "string" ? v : "");
    return { sub: text(claims?.sub), name: text(claims?.name), exp: typeof claims?.exp === "number" ? claims.exp : 0 };
  } catch {
    return null;
  }
}

/** bearer is whose token somebody has brought themselves; null where it is no token. */
export function bearer(token: string): Player | null {
  const claims = claimsOf(token);
  return claims && { user: claims.sub, token, expires_at: claims.exp * 1000 };
}
