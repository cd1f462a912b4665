// The options in the page's address.

import { home } from "../shared/join.ts";

/** Options are those of /screen?campaign=ID&lang=zh|en|both&join=URL; the code of #code= is Identity's. */
export interface Options {
  /** id of the campaign to show; null: whatever the server has on */
  campaign: string | null;
  /** zh, en, both; null: as the browser */
  lang: string | null;
  /** the content of the QR code if it is not the page's own address */
  join: string | null;
}

export function readOptions(url: URL): Options {
  return { campaign: url.searchParams.get("campaign") || null, lang: url.searchParams.get("lang"), join: webAddress(url.searchParams.get("join")) };
}

/** webAddress is a given address as http(s), "" and nonsense as null: a QR code that opens nothing would be worse than none. */
function webAddress(given: string | null): string | null {
  if (!given) return null;
  try {
    const url = new URL(given.includes("://") ? given : `http://${given}`);
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch {
    return null;
  }
}

/**
 * joinAddress returns the address for phones: that of ?join=, else the page's own server. If the page was opened as
 * localhost, it is the server's address in the local network (`lan`). null if no such address is known.
 */
export function joinAddress(page: URL, options: Options, lan: string | null): string | null {
  if (options.join) return options.join;
  const base = home(page, lan);
  if (!base) return null;
  const url = new URL(base);
  if (options.campaign) url.searchParams.set("campaign", options.campaign);
  return url.href;
}

/** spoken is an address as a person types it: without http:// and the last slash. https:// stays off too, browsers add it. */
export function spoken(address: string): string {
  return address.replace(/^https?:\/\//, "").replace(/\/$/, "");
}
