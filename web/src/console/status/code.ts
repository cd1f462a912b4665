// What an alarm's code is called.

import { texts } from "../i18n.ts";
import { status } from "../strings/status.ts";

const t = texts(status);

/** codeName is a code in the person's language; one that this page does not know yet as it is. */
export function codeName(code: string): string {
  const key = `code_${code}`;
  return t.has(key) ? t(key) : code;
}
