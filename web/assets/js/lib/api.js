// Calls of the HTTP API. Faults come as ApiError, whatever their kind.

// ApiError is a refused or failed request. status 0: the server was not reached. code is the stable code of
// the problem+json answer; fields are the faults of single fields, {field, message}.
export class ApiError extends Error {
  constructor({ status = 0, code = "unreachable", message, fields = [] }) {
    super(message || code);
    this.status = status;
    this.code = code;
    this.fields = fields;
  }
}

// request sends one call and answers with the decoded JSON, or with the Response itself where raw is set.
export async function request(path, { method = "GET", token, body, key, accept = "application/json", raw = false } = {}) {
  const headers = { Accept: accept };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  let response;
  try {
    response = await fetch(`/api/v1${path}`, {
      method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store",
    });
  } catch (cause) {
    throw new ApiError({ message: cause.message });
  }
  if (!response.ok) throw await problem(response);
  return raw ? response : response.json();
}

async function problem(response) {
  let p = {};
  try {
    p = await response.json();
  } catch {
    // A proxy's own page, not a problem of the API: the status has to do.
  }
  return new ApiError({
    status: response.status,
    code: p.code ?? `http_${response.status}`,
    message: p.detail || p.title || response.statusText,
    fields: p.errors ?? [],
  });
}

// newKey makes an Idempotency-Key. crypto.randomUUID is missing on plain http, which is what a
// hall's network often is.
export function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}
