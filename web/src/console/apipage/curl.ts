// Commands that an operator copies into a shell.

/** quote makes any text one word of a POSIX shell. */
export function quote(text: string): string {
  return /^[A-Za-z0-9_./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Call is a request of the API. */
export interface Call {
  method: "GET" | "POST";
  /** With the query, below /api/v1; parts that are ids are escaped already. */
  path: string;
  body?: unknown;
  /**
   * An idempotency key for each run of the command. It is the second, because every shell has date, and some have no
   * uuidgen.
   */
  once?: boolean;
  accept?: string;
  /** The file for the answer. */
  output?: string;
  /** A stream without an end: it is shown as it comes. */
  stream?: boolean;
}

/**
 * curl writes a call for a server (scheme, host, port). The token stays a variable: it must not be in a history or on a
 * screen.
 */
export function curl(server: string, call: Call): string {
  const words = [`curl -${call.stream ? "N" : ""}sS${call.method === "GET" ? "" : ` -X ${call.method}`}`];
  words.push(`-H "Authorization: Bearer $TOKEN"`);
  if (call.accept) words.push(`-H ${quote(`Accept: ${call.accept}`)}`);
  if (call.once) words.push(`-H "Idempotency-Key: $(date +%s)"`);
  if (call.body !== undefined) words.push("-H 'Content-Type: application/json'", `-d ${quote(JSON.stringify(call.body))}`);
  if (call.output) words.push(`-o ${quote(call.output)}`);
  words.push(quote(`${server}/api/v1${call.path}`));
  return words.join(" \\\n  ");
}
