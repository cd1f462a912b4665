// The landing, shown until a player signs in: the event, one button to play, and a form for a token.

import { byId } from "./dom.ts";
import { addressOf, type Way, wayOf } from "./login.ts";
import type { Key } from "./strings.ts";

/** Landing owns the buttons and the form of the stage. It calls back when the person chooses. */
export class Landing {
  readonly #play = byId("play", HTMLButtonElement);
  readonly #have = byId("have-token", HTMLButtonElement);
  readonly #form = byId("signin", HTMLFormElement);
  readonly #token = byId("signin-token", HTMLInputElement);
  readonly #login = byId("login", HTMLAnchorElement);
  readonly #text: (key: Key) => string;
  #way: Way | null = null;
  #on = false;

  /** text gives the words of a key. */
  constructor(guest: () => void, signin: (text: string) => void, text: (key: Key) => string) {
    this.#text = text;
    this.#play.addEventListener("click", guest);
    this.#have.addEventListener("click", () => {
      this.form(this.#form.hidden === true); // it may also be "until-found"
      if (!this.#form.hidden) this.#token.focus();
    });
    this.#form.addEventListener("submit", (e) => {
      e.preventDefault();
      const text = this.#token.value.trim();
      if (!text) return;
      this.#token.value = "";
      signin(text);
    });
  }

  /** show offers to play as a guest, if guests are allowed, or with a token, or to try again. Typed text is kept. */
  show(on: boolean, guests = true, again = false): void {
    byId("retry").hidden = !again;
    this.#offer(on && guests, "play");
    this.#have.hidden = !on;
    this.#on = on;
    this.#login.hidden = !on || !this.#way;
    this.#login.className = guests ? "plain" : "gold wide";
    if (!on) this.form(false);
  }

  /** know takes the server's logins. With profile a press asks for the nickname, because it is a press. */
  know(logins: readonly Way[] = [], profile = false): void {
    this.#way = wayOf(logins);
    if (!this.#way) return;
    this.#login.href = addressOf(this.#way, profile);
    this.#login.dataset.t = this.#way === "wechat" ? "login_wechat" : "login";
    this.#login.textContent = this.#text(this.#login.dataset.t as Key);
    this.#login.hidden = !this.#on;
  }

  /** asGuest offers to continue as a guest after an expired sign-in. */
  asGuest(): void {
    this.#offer(true, "play_guest");
  }

  #offer(on: boolean, key: Key): void {
    this.#play.hidden = !on;
    this.#play.dataset.t = key;
    this.#play.textContent = this.#text(key);
  }

  /** form shows the field for a token by itself. */
  form(on: boolean): void {
    this.#form.hidden = !on;
    this.#have.setAttribute("aria-expanded", String(on));
    document.body.classList.toggle("signs", on);
  }
}
