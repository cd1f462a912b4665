// Who is playing: a token from the address, one that was kept, or a new guest's.

import { request } from "./api.js";

const STORED = "redrain.player";

// Session gives the token for each connection.
export class Session {
  #token = null;
  #guest = false;
  #asking = null; // the request for a guest, so that two callers get the same one

  constructor(url = new URL(location.href)) {
    const given = takeToken(url);
    if (given) {
      this.#token = given;
      return;
    }
    const kept = load();
    if (kept && !(kept.expires_at <= Date.now())) {
      this.#token = kept.token;
      this.#guest = true;
    }
  }

  // guest tells whether the name was generated here, so that a new one may replace it.
  get guest() {
    return this.#guest;
  }

  // token is the player's; a guest is made where there is none yet.
  async token() {
    if (this.#token) return this.#token;
    this.#asking ??= this.#newGuest().finally(() => (this.#asking = null));
    return this.#asking;
  }

  async #newGuest() {
    const g = await request("/guests", { method: "POST" });
    this.#token = g.token;
    this.#guest = true;
    save(g);
    return g.token;
  }

  // use signs in with a token that a person has pasted.
  use(token) {
    this.#token = token;
    this.#guest = false;
  }

  // forget drops a token that was refused.
  forget() {
    this.#token = null;
    save(null);
  }
}

// takeToken takes ?token= or #token= out of the address, so that it is not shared along with it.
export function takeToken(url) {
  const hash = new URLSearchParams(url.hash.slice(1));
  const token = url.searchParams.get("token") || hash.get("token");
  if (!token) return null;
  url.searchParams.delete("token");
  hash.delete("token");
  url.hash = hash.toString();
  history.replaceState(null, "", url);
  return token;
}

function load() {
  try {
    return JSON.parse(localStorage.getItem(STORED));
  } catch {
    return null;
  }
}

function save(guest) {
  try {
    if (guest) localStorage.setItem(STORED, JSON.stringify(guest));
    else localStorage.removeItem(STORED);
  } catch {
    // No storage: the guest lasts as long as the page.
  }
}
