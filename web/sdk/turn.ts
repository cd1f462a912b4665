// The waiting room of a campaign that is full: a player's place, and when to ask again.

import type { GoodbyeMessage, WaitingMessage } from "./redrain.d.ts";

const ANSWER_WAIT = 10_000; // ms
const LONGEST = 120_000; // ms that the server may ask to wait

/** full is the close code that comes with a place in the waiting room. */
export const FULL = 4003;

/** turnOf returns the queue position in a goodbye or an answer of GET /admission; null if there is none. */
export function turnOf(m: Partial<GoodbyeMessage> & { retry_after_ms?: unknown }): WaitingMessage | null {
  const position = Number(m.position);
  if (!(position >= 1)) return null;
  const retry = Math.min(LONGEST, Math.max(0, Number(m.retry_after_ms ?? m.reconnect_after_ms) || 0));
  const wait = Number(m.wait_ms);
  return { type: "waiting", position, retry_after_ms: retry, ...(wait > 0 && { wait_ms: wait }) };
}

/** askTurn asks for the turn over HTTP, which costs the server less than a socket. null: knock at the socket, which says the rest. */
export async function askTurn(get: typeof fetch | undefined, socket: string, campaign: string, token: string): Promise<WaitingMessage | null> {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), ANSWER_WAIT); // AbortSignal.timeout is newer than some phones
  try {
    const url = new URL(`/api/v1/admission?campaign=${encodeURIComponent(campaign)}`, socket.replace(/^ws/, "http"));
    const answer = await get?.(url.href, { headers: { Authorization: `Bearer ${token}` }, signal: patience.signal });
    const m: unknown = answer?.ok ? await answer.json() : null;
    return typeof m === "object" && m !== null && !("admitted" in m && m.admitted === true) ? turnOf(m) : null;
  } catch {
    return null; // the network, or a proxy on it, blocks it
  } finally {
    clearTimeout(timer);
  }
}
