// Who the screen is to the server: the holder of a token, or a guest. There is nobody to ask, so a refused one is replaced.

import { due, type Guest, type Meet, newGuest, renewed } from "../shared/guest.ts";
import { takeToken } from "../shared/session.ts";
import { work } from "../shared/work.ts";

const GUEST = "redrain.screen"; // in localStorage: the same guest after a restart of the browser
const GIVEN = "redrain.screen.token"; // in sessionStorage: the address loses its token, a reload must not

const meet: Meet = (challenge) => {
  if (!challenge.work) throw new Error(`nobody is here to do ${challenge.kind}: open the screen with a token`);
  return work(challenge.work);
};

/** Identity gives the token for each connection. */
export class Identity {
  readonly #given: string | null;
  #guest: Guest | null;
  #asGuest: boolean;

  constructor(url: URL) {
    const fresh = takeToken(url);
    if (fresh) keep(() => sessionStorage.setItem(GIVEN, fresh));
    this.#given = fresh ?? recall(() => sessionStorage.getItem(GIVEN));
    this.#asGuest = this.#given === null;
    this.#guest = parse(recall(() => localStorage.getItem(GUEST)));
  }

  /** token is what to say hello with. It throws an ApiError where the server takes no guests. */
  async token({ renew = false } = {}): Promise<string> {
    if (!this.#asGuest && this.#given) return this.#given;
    const known = this.#guest && this.#guest.expires_at > Date.now() ? this.#guest : null;
    if (known && !renew && !due(known)) return known.token;
    const guest = await (known ? renewed(known, meet) : newGuest(meet));
    this.#guest = guest;
    keep(() => localStorage.setItem(GUEST, JSON.stringify(guest)));
    return guest.token;
  }

  /** refused says that the token, or the wish for one, was turned down: the next is a new guest's, or the given one again. */
  refused(): void {
    if (this.#asGuest) {
      this.#guest = null;
      keep(() => localStorage.removeItem(GUEST));
    }
    this.#asGuest = !this.#asGuest || this.#given === null;
  }
}

function parse(text: string | null): Guest | null {
  try {
    const guest = JSON.parse(text ?? "null") as Partial<Guest> | null;
    return typeof guest?.token === "string" && typeof guest.expires_at === "number" ? { token: guest.token, expires_at: guest.expires_at, ...(guest.since ? { since: guest.since } : {}) } : null;
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
