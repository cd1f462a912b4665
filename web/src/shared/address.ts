// The part of a link after #, which browsers do not send.

/** Brought holds the values of the address: a player's code, an operator's token, the error of a login. */
export type Brought = "code" | "token" | "login";

/**
 * takeBrought takes #code= or #token= out of the address, so that they are not shared with it. In a query it removes
 * them too, but does not use them, because servers and proxies log queries. On the console, ?code= belongs to the
 * identity provider.
 */
export function takeBrought(what: Brought, url = new URL(location.href)): string | null {
  const hash = new URLSearchParams(url.hash.slice(1));
  const found = hash.get(what) || null;
  let there = false;
  for (const name of what === "code" ? ["code", "token"] : [what]) {
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

/** broughtBy parses the text of a field: the code or token itself, or a link with it. */
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
