// Entry by a link: its code is exchanged for a token. A player who is signed in is asked before the player changes.

import { broughtBy, takeBrought } from "../shared/address.ts";
import { ApiError } from "../shared/api.ts";
import type { I18n } from "../shared/i18n.ts";
import { bearer, claimsOf, type Player, signIn } from "../shared/player.ts";
import type { Session } from "../shared/session.ts";
import { closable } from "./dialog.ts";
import { byId, write } from "./dom.ts";
import type { Problem } from "./stage.ts";
import type { strings } from "./strings.ts";

const OVER: Problem = { title: "code_over", hint: "code_over_hint" };
const BANNED: Problem = { title: "ended_away", hint: "ended_away_hint" };

/** Around are the parts of the page that the entry needs. */
export interface Around {
  session: Session;
  i18n: I18n<typeof strings>;
  /** the displayed name of a player */
  name: (user: string) => string;
  /** a code is being exchanged */
  coming: () => void;
  /** no answer: try again after a while */
  unreached: () => Promise<void>;
  /** the signed-in player goes on */
  stay: () => void;
  /** another player plays from now on */
  become: (player: Player) => void;
  /** no player is signed in, and the code has failed; banned: for good */
  refused: (problem: Problem, banned: boolean) => void;
}

/** Entry lives as long as the page. */
export class Entry {
  readonly #around: Around;
  readonly #box = closable("who");
  #code = ""; // the newest code
  #asked: Player | null = null; // the player in the dialog; null: the link has expired
  #words: () => void = () => {};

  constructor(around: Around) {
    this.#around = around;
    byId("who-next").addEventListener("click", () => this.#close(true));
    byId("who-now").addEventListener("click", () => this.#close(false));
    this.#box.addEventListener("cancel", () => this.#close(false)); // without a choice, the player stays the same
    around.i18n.onChange(() => this.#words());
  }

  /** look takes a code out of the address, and reports whether there was one. */
  look(): boolean {
    const code = takeBrought("code");
    if (code) void this.take(code);
    return code !== null;
  }

  /** given handles the text of the field: a code, a link with one, or a token. */
  given(text: string): void {
    const player = bearer(text.trim());
    if (player) this.#arrived(player);
    else void this.take(broughtBy(text, "code"));
  }

  /** take exchanges a code. */
  async take(code: string): Promise<void> {
    const { coming, unreached } = this.#around;
    this.#code = code;
    coming();
    while (this.#code === code) {
      try {
        const player = await signIn(code);
        return this.#arrived(player);
      } catch (fault) {
        if (fault instanceof ApiError && fault.status >= 400 && fault.status < 500 && fault.status !== 408 && fault.status !== 429) return this.#refused(fault);
        await unreached();
      }
    }
  }

  #arrived(player: Player): void {
    const { session, become } = this.#around;
    if (!session.known || session.user === player.user) return become(player);
    this.#show(player);
  }

  #refused(fault: ApiError): void {
    const { session, refused } = this.#around;
    const banned = fault.code === "banned";
    if (session.known) this.#show(null);
    else refused(banned ? BANNED : OVER, banned);
  }

  // show asks which player is to play. To a signed-in player it reports an expired link.
  #show(player: Player | null): void {
    this.#asked = player;
    this.#words = () => this.#write();
    this.#write();
    byId("who-next").hidden = !player;
    if (!this.#box.open) this.#box.showModal();
  }

  #write(): void {
    const { i18n } = this.#around;
    const [now, next] = this.#names();
    const key = this.#asked ? "who" : "code_over";
    write(byId("who-title"), i18n.t(key));
    write(byId("who-text"), i18n.t(this.#asked ? "who_text" : "code_over_stay", { now, next }));
    write(byId("who-next"), i18n.t("who_next", { next }));
    write(byId("who-now"), i18n.t(this.#asked ? "who_now" : "who_on", { now }));
  }

  // names returns the names of both players. If they are equal, it adds the ids.
  #names(): readonly [string, string] {
    const { session, name } = this.#around;
    const ids = [name(session.user), name(this.#asked?.user ?? "")] as const;
    const called = [session.called || ids[0], (this.#asked && claimsOf(this.#asked.token)?.name) || ids[1]] as const;
    return called[0] === called[1] ? ids : called;
  }

  #close(next: boolean): void {
    const player = this.#asked;
    this.#words = () => {};
    this.#box.close();
    if (next && player) this.#around.become(player);
    else this.#around.stay();
  }
}
