// The address of the socket.

/** address returns the socket's URL for the given server, or for the page's own. */
export function address(given: string | URL | undefined): string {
  const page = globalThis.location as Location | undefined; // none in Node
  if (given === undefined && !page) throw new TypeError("RainClient: outside a page it needs `url`, the address of the socket");
  const url = new URL(given ?? "/ws", page?.href);
  url.protocol = url.protocol.replace("http", "ws");
  url.hash = "";
  if (url.protocol !== "ws:" && url.protocol !== "wss:") throw new TypeError(`RainClient: ${url.href} is not the address of a socket`);
  return url.href;
}
