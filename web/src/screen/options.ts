// What the address of the page asks for.

import { home } from "../shared/join.ts";

/** Options are those of /screen?campaign=ID&lang=zh|en|both&join=URL; the code of #code= is Identity's. */
export interface Options {
  /** id of the campaign to show; null: whatever the server has on */
  campaign: string | null;
  /** zh, en, both; null: as the browser */
  lang: string | null;
  /** what the QR code holds, where the page's own address is not the one to join by */
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
 * joinAddress is where a phone joins: what ?join= says, else the page's own server, by its address in the local network
 * (`lan`, as the server tells) where the page was opened as localhost. null where nothing is known that a phone could open.
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
