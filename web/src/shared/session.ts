// Who is playing: the holder of a token from the address or from storage, or a new guest.

import { ApiError } from "./api.ts";
import { due, type Guest, type Meet, newGuest, renewed } from "./guest.ts";

const STORED = "redrain.player"; // in localStorage: a guest stays the same in this browser
const GIVEN = "redrain.token"; // in sessionStorage: a token that a person brought lasts as long as the tab

/** Session gives the token for each connection. */
export class Session {
  /** the code of the answer that refused a guest; "" where the last one was let in */
  refusal = "";
  /** does what the server may ask of a guest first */
  meet: Meet | null = null;
  #token: string | null = null;
  #guest: Guest | null = null; // whose token it is, where it is a guest's
  #asking: Promise<string> | null = null; // the request for a guest, so that two callers get the same one

  constructor(url = new URL(location.href)) {
    const given = takeToken(url) ?? recall();
    if (given) {
      this.use(given);
      return;
    }
    const kept = load();
    if (kept && !(kept.expires_at <= Date.now())) {
      this.#token = kept.token;
      this.#guest = kept;
    }
  }

  /** guest tells whether the name was generated here, so that a new one may replace it. */
  get guest(): boolean {
    return this.#guest !== null;
  }

  /** known tells whether there is a token already. */
  get known(): boolean {
    return this.#token !== null;
  }

  /** token is the player's token. It makes a guest where there is none yet, and renews a guest's token in good time, or where it is asked to. */
  async token({ renew = false } = {}): Promise<string> {
    const guest = this.#guest;
    if (this.#token && !(guest && (renew || due(guest)))) return this.#token;
    this.#asking ??= this.#keep(guest ? renewed(guest, this.meet) : newGuest(this.meet)).finally(() => (this.#asking = null));
    return this.#asking;
  }

  async #keep(coming: Promise<Guest>): Promise<string> {
    const before = this.#token;
    const guest = await coming.catch((fault: unknown) => {
      this.refusal = fault instanceof ApiError ? fault.code : "";
      throw fault;
    });
    this.refusal = "";
    if (before !== this.#token) return this.#token ?? guest.token; // somebody has signed in meanwhile
    this.#token = guest.token;
    this.#guest = guest;
    save(guest);
    return guest.token;
  }

  /** use signs in with a token that a person has brought. It outlasts a reload, which takes it out of the address. */
  use(token: string): void {
    this.#token = token;
    this.#guest = null;
    remember(token);
  }

  /** forget drops a token that was refused. */
  forget(): void {
    this.#token = null;
    this.#guest = null;
    save(null);
    remember(null);
  }
}

/** takeToken takes ?token= or #token= out of the address, so that it is not shared along with it. */
export function takeToken(url: URL): string | null {
  const hash = new URLSearchParams(url.hash.slice(1));
  const token = url.searchParams.get("token") || hash.get("token");
  if (!token) return null;
  url.searchParams.delete("token");
  if (hash.has("token")) { // any other hash belongs to the page and stays
    hash.delete("token");
    url.hash = hash.toString();
  }
  history.replaceState(null, "", url);
  return token;
}

function load(): Guest | null {
  try {
    return JSON.parse(localStorage.getItem(STORED) ?? "null") as Guest | null;
  } catch {
    return null;
  }
}

function recall(): string | null {
  try {
    return sessionStorage.getItem(GIVEN);
  } catch {
    return null;
  }
}

function remember(token: string | null): void {
  try {
    if (token) sessionStorage.setItem(GIVEN, token);
    else sessionStorage.removeItem(GIVEN);
  } catch {
    // No storage: the token lasts as long as the page.
  }
}

function save(guest: Guest | null): void {
  try {
    if (guest) localStorage.setItem(STORED, JSON.stringify(guest));
    else localStorage.removeItem(STORED);
  } catch {
    // No storage: the guest lasts as long as the page.
  }
}
