// Calls of the API with the operator's token. A token that the server no longer knows ends the session.

import { ApiError, request, send, type RequestOptions } from "../shared/api.ts";
import { current, leave } from "./session.ts";
import { sample } from "./servertime.ts";
import type { Whoami } from "./types.ts";

export { ApiError, newKey, type FieldFault } from "../shared/api.ts";

export type CallOptions = Omit<RequestOptions, "token">;

/** api sends one call and answers with the decoded JSON. */
export function api<T>(path: string, options: CallOptions = {}): Promise<T> {
  return withToken((token) => request<T>(path, { ...options, token }));
}

/** apiResponse is api for those who read the answer themselves: a CSV, a feed. */
export function apiResponse(path: string, options: CallOptions = {}): Promise<Response> {
  return withToken((token) => send(path, { ...options, token }));
}

/** post is api for what changes something. key is the Idempotency-Key; useAction gives one. */
export function post<T>(path: string, body?: unknown, key?: string): Promise<T> {
  return api<T>(path, { method: "POST", ...(body === undefined ? {} : { body }), ...(key ? { key } : {}) });
}

/** whoami asks what a token may do, and takes the server's time from the answer. Older servers have no such path: then it is tried. */
export async function whoami(token: string, signal?: AbortSignal): Promise<Whoami> {
  const options = { token, ...(signal ? { signal } : {}) };
  try {
    const asked = performance.now();
    const who = await request<Whoami>("/whoami", options);
    if (who.server_time) sample(who.server_time, asked, performance.now());
    return who;
  } catch (fault) {
    if (!(fault instanceof ApiError) || fault.status !== 404) throw fault;
  }
  await request("/campaigns?limit=1", options);
  return { role: "operator" }; // or a viewer, whom the server then refuses what acts
}

/** seg is one segment of a path. */
export const seg = encodeURIComponent;

async function withToken<T>(call: (token: string | null) => Promise<T>): Promise<T> {
  const session = current();
  try {
    return await call(session.is === "in" ? session.token : null);
  } catch (fault) {
    // Only the session that asked is ended: another may have begun meanwhile.
    if (fault instanceof ApiError && fault.status === 401 && current() === session) leave(true);
    throw fault;
  }
}
