// Calls of the HTTP API. Every fault is an ApiError.

import type { Challenge, FieldError, Problem } from "./schemas.ts";

/**
 * ApiError is a refused or failed request. status 0: the server was not reached, or its answer is incomplete. code is
 * the stable code of the problem+json answer.
 */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly fields: FieldError[];
  /** the challenge to solve before the request is repeated */
  readonly challenge: Challenge | null;

  constructor(fault: { status?: number; code?: string; message?: string; fields?: FieldError[]; challenge?: Challenge | undefined }) {
    const code = fault.code ?? "unreachable";
    super(fault.message || code);
    this.status = fault.status ?? 0;
    this.code = code;
    this.fields = fault.fields ?? [];
    this.challenge = fault.challenge ?? null;
  }
}

export interface RequestOptions {
  method?: string;
  token?: string | null;
  body?: unknown;
  /** Idempotency-Key */
  key?: string;
  accept?: string;
  signal?: AbortSignal;
}

/**
 * request sends one call and returns the decoded JSON. An incomplete answer, or one that is not the API's, counts as no
 * answer.
 */
export async function request<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const response = await send(path, options);
  return reached(response.json() as Promise<T>, options.signal);
}

/**
 * send is request for callers that read the answer themselves: a CSV, a feed. If aborted, it throws the signal's
 * reason.
 */
export async function send(path: string, { method = "GET", token, body, key, accept = "application/json", signal }: RequestOptions = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: accept };
  if (token) headers.Authorization = `Bearer ${token}`;
  const raw = body instanceof Blob; // a file has its own content type
  if (body !== undefined && !raw) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  const response = await reached(fetch(`/api/v1${path}`, {
    method, headers, cache: "no-store",
    ...(body === undefined ? {} : { body: raw ? body : JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  }), signal);
  if (!response.ok) throw await problem(response);
  return response;
}

// reached returns the answer, or throws the reason for a missing one.
async function reached<T>(coming: Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await coming;
  } catch (cause) {
    if (signal?.aborted) throw signal.reason ?? cause; // an older browser has no reason
    throw new ApiError({ message: String(cause) });
  }
}

async function problem(response: Response): Promise<ApiError> {
  let p: Partial<Problem> = {};
  try {
    p = (await response.json()) as Partial<Problem>;
  } catch {
    // The answer is a proxy's page, not the API's, so only its status is known.
  }
  return new ApiError({
    status: response.status,
    code: p.code ?? `http_${response.status}`,
    message: p.detail || p.title || response.statusText,
    fields: p.errors ?? [],
    challenge: p.challenge,
  });
}

/**
 * newKey makes an Idempotency-Key. crypto.randomUUID is missing on plain http, which is common in halls.
 */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}
