// Which campaign to play: the one named in the address, or the one that the server has on now.

import { request } from "../shared/api.ts";

// named is the campaign of ?campaign=, or null.
export function named(url = new URL(location.href)) {
  return url.searchParams.get("campaign") || null;
}

// current asks for the campaign that is on; null when there is none.
export async function current() {
  try {
    return (await request("/lobby")).campaign;
  } catch (fault) {
    if (fault.status === 404) return null;
    throw fault;
  }
}

// soon is a wait of one to two times ms: everybody in the hall asks, but not at once.
export function soon(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms * (1 + Math.random())));
}
