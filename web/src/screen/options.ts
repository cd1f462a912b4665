// The options in the page's address.

import { home } from "../shared/join.ts";

/** Options are those of /screen?campaign=ID&lang=zh|en|both&join=URL; the code of #code= is Identity's. */
export interface Options {
  /** id of the campaign to show; null: the server's current one */
  campaign: string | null;
  /** zh, en, both; null: the browser's */
  lang: string | null;
  /** the content of the QR code if it is not the page's own address */
  join: string | null;
}

export function readOptions(url: URL): Options {
  return { campaign: url.searchParams.get("campaign") || null, lang: url.searchParams.get("lang"), join: webAddress(url.searchParams.get("join")) };
}

/** webAddress returns an address as http(s). "" and invalid ones are null: a wrong QR code is worse than none. */
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

/** spoken is an address as a person types it: without http://, https:// (browsers add it) and the last slash. */
export function spoken(address: string): string {
  return address.replace(/^https?:\/\//, "").replace(/\/$/, "");
}
