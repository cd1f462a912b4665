// Calls of the API with the operator's token. If the server does not know the token any more, the session lapses.

import { ApiError, request, send, type RequestOptions } from "../shared/api.ts";
import { current, lapse, type Who } from "./session.ts";
import { sample } from "./servertime.ts";
import type { Page as ApiPage } from "../shared/schemas.ts";

export { ApiError, newKey } from "../shared/api.ts";

export type CallOptions = Omit<RequestOptions, "token">;

/** Page is a page of a list; the last one has no next_cursor. */
export interface Page<T> extends ApiPage {
  items: T[];
}

/** api sends one call and answers with the decoded JSON. */
export function api<T>(path: string, options: CallOptions = {}): Promise<T> {
  return withToken((token) => request<T>(path, { ...options, token }));
}

/** apiResponse is api for callers that read the answer themselves: a CSV, a feed. */
export function apiResponse(path: string, options: CallOptions = {}): Promise<Response> {
  return withToken((token) => send(path, { ...options, token }));
}

/** post is api for a change. key is the Idempotency-Key; useAction gives one. */
export function post<T>(path: string, body?: unknown, key?: string): Promise<T> {
  return api<T>(path, { method: "POST", ...(body === undefined ? {} : { body }), ...(key ? { key } : {}) });
}

/**
 * whoami asks for the rights of a token, and takes the server's time from the answer. Older servers have no such path:
 * there it tries the token.
 */
export async function whoami(token: string, signal?: AbortSignal): Promise<Who> {
  const options = { token, ...(signal ? { signal } : {}) };
  try {
    const asked = performance.now();
    const who = await request<Who>("/whoami", options);
    if (who.server_time) sample(who.server_time, asked, performance.now());
    return who;
  } catch (fault) {
    if (!(fault instanceof ApiError) || fault.status !== 404) throw fault;
  }
  await request("/campaigns?limit=1", options);
  return { role: "operator" }; // or a viewer, whose actions the server refuses
}

/** seg is one segment of a path. */
export const seg = encodeURIComponent;

async function withToken<T>(call: (token: string | null) => Promise<T>): Promise<T> {
  const session = current();
  // An expired token is not sent again: the server slows down clients that send wrong ones.
  if (session.is === "in" && session.lapsed) throw new ApiError({ status: 401, code: "unauthorized" });
  try {
    return await call(session.is === "in" ? session.token : null);
  } catch (fault) {
    // End only the session that asked: another one may have begun since.
    if (fault instanceof ApiError && fault.status === 401 && current() === session) lapse();
    throw fault;
  }
}
