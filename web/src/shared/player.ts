// A signed-in player, with a token from their platform or an operator.

import { request } from "./api.ts";
import { within } from "./patience.ts";
import type { Guest as Answer } from "./schemas.ts";

const PATIENCE = 10_000; // ms for an answer

/** Player is the stored identity of a signed-in player. */
export interface Player {
  user: string;
  token: string;
  expires_at: number;
}

/** signIn exchanges the code of a link. It works once: after a final failure the code is useless. */
export async function signIn(code: string): Promise<Player> {
  const { user, token, expires_at } = await request<Answer>("/login", { method: "POST", body: { code }, signal: within(PATIENCE) });
  return { user, token, expires_at };
}

/** Claims are the claims of a token; only the server can verify them. */
export interface Claims {
  sub: string;
  /** the player's name; "" if it has none */
  name: string;
  /** the id of the player's face; "" if it has none */
  face: string;
  /** Unix s */
  exp: number;
}

/** claimsOf parses a token; null if it is not one. */
export function claimsOf(token: string): Claims | null {
  const [, payload = "", signature] = token.split(".");
  if (!signature) return null;
  try {
    const bytes = Uint8Array.from(atob(payload.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
    const claims = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown> | null;
    const text = (v: unknown): string => (typeof v === "string" ? v : "");
    return { sub: text(claims?.sub), name: text(claims?.nickname) || text(claims?.name), face: text(claims?.face), exp: typeof claims?.exp === "number" ? claims.exp : 0 };
  } catch {
    return null;
  }
}

/** bearer returns the player of a brought token; null if it is not a token. */
export function bearer(token: string): Player | null {
  const claims = claimsOf(token);
  return claims && { user: claims.sub, token, expires_at: claims.exp * 1000 };
}
