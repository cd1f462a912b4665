// The server's own sentences in the reader's language, as far as this page knows them.

import { lang } from "../i18n.ts";
import { numbered } from "../../shared/packet.ts";
import { sentences } from "../strings/server.ts";

const SLOT = /\{(\d)([:*>#]?)\}/g;
// patterns of the variable parts, by the mark of their slot
const LIKE: Record<string, string> = { "": "(\\S+)", ":": "(\\S+:\\S+|wallet)", "*": "(.+)", ">": "(.+)", "#": "(\\d+)" };

const known = sentences.map(([en, zh]) => {
  const kinds = Array.from(en.matchAll(SLOT), ([, , kind]) => kind ?? "");
  const fixed = en.split(/\{\d[:*>#]?\}/).map(plain);
  return { like: new RegExp(`^${fixed.map((f, i) => f + (i < kinds.length ? LIKE[kinds[i] ?? ""] : "")).join("")}$`, "s"), kinds, en, zh };
});

/** said translates a sentence of the server. Quoted text and unknown sentences stay as they are. */
export function said(text: string): string {
  for (const { like, kinds, ...words } of known) {
    const parts = like.exec(text)?.slice(1);
    if (parts) return words[lang()].replace(SLOT, (_, n: string) => part(parts[Number(n)] ?? "", kinds[Number(n)]));
  }
  return text;
}

function part(text: string, kind = ""): string {
  if (kind === ">") return said(text);
  return kind === "#" ? numbered(text) : text;
}

function plain(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
