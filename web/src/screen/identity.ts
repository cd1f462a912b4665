// The identity of the screen: a token, or a guest. A wall has no user to ask, so a refused identity is replaced.

import { due, type Guest, type Meet, newGuest, renewed } from "../shared/guest.ts";
import { takeBrought } from "../shared/address.ts";
import { ApiError } from "../shared/api.ts";
import { type Player, signIn } from "../shared/player.ts";
import { work } from "../shared/work.ts";

const GUEST = "redrain.screen"; // in localStorage: the same guest after a restart of the browser
const GIVEN = "redrain.screen.signed-in"; // in localStorage: a code works once, so the token must survive a restart

const meet: Meet = (challenge) => {
  if (!challenge.work) throw new Error(`nobody is here to do ${challenge.kind}: open the screen with a token`);
  return work(challenge.work);
};

/** Identity gives the token for each connection. */
export class Identity {
  #code: string | null; // of the address, until it is exchanged
  #exchanging: Promise<void> | null = null;
  #given: Player | null;
  #guest: Guest | null;
  #asGuest: boolean;

  constructor(url: URL) {
    this.#code = takeBrought("code", url);
    this.#given = parse<Player>(recall(() => localStorage.getItem(GIVEN)));
    this.#asGuest = this.#given === null;
    this.#guest = parse<Guest>(recall(() => localStorage.getItem(GUEST)));
    // At once, because a code expires soon. A failure is retried with the first connection.
    if (this.#code) this.#enter(this.#code).catch(() => {});
  }

  /** token returns the token for hello. It throws an ApiError if the server does not admit guests. */
  async token({ renew = false } = {}): Promise<string> {
    if (this.#code) await this.#enter(this.#code);
    if (!this.#asGuest && this.#given) return this.#given.token;
    const known = this.#guest && this.#guest.expires_at > Date.now() ? this.#guest : null;
    if (known && !renew && !due(known)) return known.token;
    const guest = await (known ? renewed(known, meet) : newGuest(meet));
    this.#guest = guest;
    keep(() => localStorage.setItem(GUEST, JSON.stringify(guest)));
    return guest.token;
  }

  #enter(code: string): Promise<void> {
    return (this.#exchanging ??= this.#exchange(code).finally(() => (this.#exchanging = null)));
  }

  // exchange exchanges the code for a token. An invalid code is dropped: the screen goes on without it.
  async #exchange(code: string): Promise<void> {
    try {
      const given = await signIn(code);
      this.#given = given;
      this.#asGuest = false;
      keep(() => localStorage.setItem(GIVEN, JSON.stringify(given)));
    } catch (fault) {
      if (!(fault instanceof ApiError) || fault.status < 400 || fault.status >= 500 || fault.status === 429) throw fault;
    }
    this.#code = null;
  }

  /** refused handles a refused token. The next one is a new guest's, or the signed-in player's again. */
  refused(): void {
    if (this.#asGuest) {
      this.#guest = null;
      keep(() => localStorage.removeItem(GUEST));
    }
    this.#asGuest = !this.#asGuest || this.#given === null;
  }
}

function parse<T extends { token: string; expires_at: number }>(text: string | null): T | null {
  try {
    const kept = JSON.parse(text ?? "null") as T | null;
    return typeof kept?.token === "string" && typeof kept.expires_at === "number" ? kept : null;
  } catch {
    return null;
  }
}

// Storage may be forbidden: then the guest lasts as long as the page.
function recall(read: () => string | null): string | null {
  try {
    return read();
  } catch {
    return null;
  }
}

function keep(write: () => void): void {
  try {
    write();
  } catch {
    // see above
  }
}
