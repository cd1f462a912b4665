// The announcements for screen readers: a win at once, and many taps without a win as a number.

import { byId } from "./dom.ts";

const QUIET = 4_000; // ms between two lines about taps that won nothing

/** Announcer writes to the page's two live regions. */
export class Announcer {
  readonly #polite = byId("announce");
  readonly #assertive = byId("alarm");
  readonly #more: (n: number) => string;
  #timer = 0;
  #missed = 0;

  /** more is the line for n further taps without a win. */
  constructor(more: (n: number) => string) {
    this.#more = more;
  }

  say(text: string): void {
    put(this.#polite, text);
  }

  /** alarm interrupts: the rain begins. */
  alarm(text: string): void {
    put(this.#assertive, text);
  }

  /** miss announces the first tap of a series in its own words, and the others together. */
  miss(text: string): void {
    if (this.#timer) {
      this.#missed++;
      return;
    }
    this.say(text);
    this.#timer = setTimeout(() => this.#rest(), QUIET);
  }

  /** rain forgets the series: another rain begins, or this one has ended. */
  rain(): void {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#missed = 0;
  }

  #rest(): void {
    this.#timer = 0;
    if (this.#missed === 0) return;
    this.say(this.#more(this.#missed));
    this.#missed = 0;
    this.#timer = setTimeout(() => this.#rest(), QUIET);
  }
}

// put makes a new node, so that a screen reader repeats a repeated text.
function put(region: HTMLElement, text: string): void {
  const line = document.createElement("span");
  line.textContent = text;
  region.replaceChildren(line);
}
