// The landing, shown until somebody signs in: the event, one button to play, and a form for those who have a token.

import { byId } from "./dom.ts";

/** Landing owns the buttons and the form of the stage. It calls back when the person chooses. */
export class Landing {
  readonly #play = byId("play", HTMLButtonElement);
  readonly #have = byId("have-token", HTMLButtonElement);
  readonly #form = byId("signin", HTMLFormElement);
  readonly #token = byId("signin-token", HTMLInputElement);

  constructor(guest: () => void, signin: (token: string) => void) {
    this.#play.addEventListener("click", guest);
    this.#have.addEventListener("click", () => {
      this.form(this.#form.hidden === true); // it may also be "until-found"
      if (!this.#form.hidden) this.#token.focus();
    });
    this.#form.addEventListener("submit", (e) => {
      e.preventDefault();
      const token = this.#token.value.trim();
      if (!token) return;
      this.#token.value = "";
      signin(token);
    });
  }

  /** show offers to play as a guest, where guests may, or with a token. */
  show(on: boolean, guests = true): void {
    this.#play.hidden = !on || !guests;
    this.#have.hidden = !on || !guests;
    this.form(on && !guests);
  }

  /** form shows the field for a token by itself. */
  form(on: boolean): void {
    this.#form.hidden = !on;
    this.#have.setAttribute("aria-expanded", String(on));
  }
}
