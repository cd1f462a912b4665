// What an alarm says.

import { texts } from "../i18n.ts";
import { status } from "../strings/status.ts";

const t = texts(status);

/** codeName is a code in the person's language; one that this page does not know yet as it is. */
export function codeName(code: string): string {
  const key = `code_${code}`;
  return t.has(key) ? t(key) : code;
}

/** Said is an alarm's message: what its code means, where the person reads another language than the server writes, and the server's words. */
export function Said({ of: { code, message } }: { of: { code: string; message: string } }) {
  const key = `say_${code}`;
  const said = t.has(key) && t(key);
  const words = <span lang="en">{message}</span>;
  return said ? <>{said}<br /><small>{words}</small></> : words;
}
