// Where other devices reach the server that this page has come from.

/** isLocal tells whether a host is the machine that the browser runs on, by a name that is of no use to any other. */
export function isLocal(hostname: string): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]" || /^127\./.test(hostname);
}

/** home is the address of the page's own server for a phone: the one in the local network (`lan`, as the server tells) where the page was opened as localhost. null where nothing is known that a phone could open. */
export function home(page: URL, lan: string | null): string | null {
  return isLocal(page.hostname) ? lan : `${page.origin}/`;
}
