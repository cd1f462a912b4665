// The server's own sentences in the reader's language, as far as this page knows them.

import { lang } from "../i18n.ts";
import { sentences } from "../strings/server.ts";

const known = sentences.map(([en, zh]) => ({ like: new RegExp(`^${en.split(/\{\d\}/).map(plain).join("(.+)")}$`, "s"), zh }));

/** said is what the server has said. What it quotes, or what this page does not know, stays as it is. */
export function said(text: string): string {
  if (lang() !== "zh") return text;
  for (const { like, zh } of known) {
    const [whole, ...parts] = like.exec(text) ?? [];
    if (whole !== undefined) return zh.replace(/\{(\d)\}/g, (_, n: string) => said(parts[Number(n)] ?? ""));
  }
  return text;
}

function plain(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
