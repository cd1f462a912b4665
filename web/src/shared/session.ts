// The player of the page: signed in, or a guest.

import { ApiError } from "./api.ts";
import { called, due, type Guest, type Meet, newGuest, renewed, type Wish } from "./guest.ts";
import { claimsOf, type Player } from "./player.ts";

// In localStorage: a player stays the same in this browser, even if a phone closes the tab. A signed-in player does not
// replace the guest, who may have won something.
const GUEST = "redrain.player";
const SIGNED_IN = "redrain.signed-in";

/** Session gives the token for each connection. */
export class Session {
  /** the code of the answer that refused a guest; "" if the last guest was admitted */
  refusal = "";
  /** solves the challenge before a guest is created */
  meet: Meet | null = null;
  /** the name and the face of the next new guest */
  wish: Wish = {};
  #player: Player | null; // the signed-in player
  #guest: Guest | null; // of this browser
  #token: string | null;
  #asking: Promise<string> | null = null; // the request for a guest, so that two callers get the same one

  constructor() {
    this.#player = load<Player>(SIGNED_IN);
    const kept = load<Guest>(GUEST);
    this.#guest = kept && !(kept.expires_at <= Date.now()) ? kept : null;
    this.#token = (this.#player ?? this.#guest)?.token ?? null;
  }

  /** guest reports whether the name was generated here, so that a new one may replace it. */
  get guest(): boolean {
    return this.#player === null && this.#guest !== null;
  }

  /** user is the player's id; "" without a player, or if an old page has not stored it. */
  get user(): string {
    return this.#player?.user ?? (this.#token ? (claimsOf(this.#token)?.sub ?? this.#guest?.user ?? "") : "");
  }

  /** called is the player's name; "" if the token has none. */
  get called(): string {
    return (this.#token && claimsOf(this.#token)?.name) || "";
  }

  /** face is the id of the player's face; "" if the token has none. */
  get face(): string {
    return (this.#token && claimsOf(this.#token)?.face) || "";
  }

  /** known reports whether there is a token already. */
  get known(): boolean {
    return this.#token !== null;
  }

  /**
   * token returns the player's token. It creates a guest if there is none yet. It renews a guest's token in time, or on
   * request.
   */
  async token({ renew = false } = {}): Promise<string> {
    if (this.#player) return this.#player.token;
    const guest = this.#guest;
    if (this.#token && !(guest && (renew || due(guest)))) return this.#token;
    this.#asking ??= this.#keep(guest ? renewed(guest, this.meet, this.wish) : newGuest(this.meet, this.wish)).finally(() => (this.#asking = null));
    return this.#asking;
  }

  /** call gives the guest another name and face. Without a guest it creates one. */
  async call(wish: Wish): Promise<void> {
    await this.#asking?.catch(() => {}); // its token has the name from before
    await this.#keep(this.#guest ? called(this.#guest, wish) : newGuest(this.meet, wish));
    this.wish = wish;
  }

  async #keep(coming: Promise<Guest>): Promise<string> {
    const before = this.#token;
    const guest = await coming.catch((fault: unknown) => {
      this.refusal = fault instanceof ApiError ? fault.code : "";
      throw fault;
    });
    this.refusal = "";
    if (before !== this.#token) return this.#token ?? guest.token; // a player has signed in meanwhile
    this.#token = guest.token;
    this.#guest = guest;
    save(GUEST, guest);
    return guest.token;
  }

  /** use signs a player in. */
  use(player: Player): void {
    this.#player = player;
    this.#token = player.token;
    save(SIGNED_IN, player);
  }

  /** forget drops a refused token, or signs out. A guest of this browser stays after a player has signed out. */
  forget(): void {
    this.#token = null;
    if (this.#player) {
      this.#player = null;
      save(SIGNED_IN, null);
      return;
    }
    this.#guest = null;
    save(GUEST, null);
  }
}

function load<T extends { token: string }>(name: string): T | null {
  try {
    const kept = JSON.parse(localStorage.getItem(name) ?? "null") as T | null;
    return kept && typeof kept.token === "string" ? kept : null;
  } catch {
    return null;
  }
}

function save(name: string, value: object | null): void {
  try {
    if (value) localStorage.setItem(name, JSON.stringify(value));
    else localStorage.removeItem(name);
  } catch {
    // No storage: it lasts as long as the page.
  }
}
