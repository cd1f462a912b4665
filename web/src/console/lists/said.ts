// The server's faults of invalid members, in the reader's language.

import type { ApiError } from "../api.ts";
import { lang, texts } from "../i18n.ts";
import { lists } from "../strings/lists.ts";
import type { PlayerList } from "../../shared/schemas.ts";

const t = texts(lists);

/** faultyLines returns the faults of a file's lines that the server names. */
export function faultyLines(fault: ApiError, of: PlayerList["of"]): string[] {
  return fault.fields.flatMap(({ message }) => {
    const [, n, what] = /^line (\d+): (.*)$/s.exec(message) ?? [];
    return n && what ? [t("badLine", { n: Number(n), what: lang() === "en" ? what : t(`bad_${of}`) })] : [];
  });
}

/** explainMembers gives the reason why a member is invalid; undefined for other faults. */
export function explainMembers(fault: ApiError, of: PlayerList["of"]): string | undefined {
  return fault.fields.some(({ field }) => field.startsWith("members")) ? t(`bad_${of}`) : undefined;
}
