// What a link brings behind its #, which browsers send to nobody.

/** Brought is what was in the address: a player's code, an operator's token. */
export type Brought = "code" | "token";

/**
 * takeBrought takes #code= or #token= out of the address, so that it is not shared along with it. In a query they sign nobody in, since
 * that is in the logs of the server and of everything on the way, but they go as well; only the console's ?code= is an identity provider's.
 */
export function takeBrought(what: Brought, url = new URL(location.href)): string | null {
  const hash = new URLSearchParams(url.hash.slice(1));
  const found = hash.get(what) || null;
  let there = false;
  for (const name of what === "code" ? ["code", "token"] : ["token"]) {
    if (url.searchParams.has(name)) url.searchParams.delete(name), (there = true);
    if (hash.has(name)) { // any other hash belongs to the page and stays
      hash.delete(name);
      url.hash = hash.toString();
      there = true;
    }
  }
  if (there) history.replaceState(history.state, "", url);
  return found;
}

/** broughtBy is what somebody has put into a field: the code or token itself, or the whole link with it. */
export function broughtBy(text: string, what: Brought): string {
  const found = new RegExp(`#(?:.*&)?${what}=([^&\\s]+)`).exec(text);
  return found?.[1] ? decode(found[1]) : text.trim();
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
