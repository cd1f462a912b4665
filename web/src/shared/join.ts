// The address of this page's server for other devices.

/** isLocal reports whether a host name means the browser's own machine, and is useless on any other. */
export function isLocal(hostname: string): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]" || /^127\./.test(hostname);
}

/** home returns the address of the page's own server for a phone. If the page was opened as localhost, it is the one in
 * the local network (`lan`, from the server). null if no such address is known. */
export function home(page: URL, lan: string | null): string | null {
  return isLocal(page.hostname) ? lan : `${page.origin}/`;
}
