// A connection ends with its token, so a new token is asked for, and sent, while the connection lives.

import type { Timers } from "./timers.ts";

const AHEAD = 60_000; // ms before its end that a token is renewed, at most
const SHARE = 0.2; // fraction of the rest of a short-lived token
const LONGEST = 3_600_000; // ms of one timer
const PAUSE = 15_000; // ms between two tries, at most

interface Parts {
  timers: Timers;
  now: () => number;
  random: () => number;
  newId: () => number;
  /** token returns a new token; after an exception it is called again. */
  token: () => string | Promise<string>;
  /** send sends it, unless it is the one that the connection has. */
  send: (message: { type: "token"; id: number; token: string }) => void;
}

/** Renewal renews the token of the present connection. */
export class Renewal {
  #o: Parts;
  #expires = 0; // server time; 0: nothing to renew
  #id = 0; // of the request that is not answered yet

  constructor(parts: Parts) {
    this.#o = parts;
  }

  /** good sets the expiry of the token, from a welcome or the answer to a new token. */
  good(expires: unknown): void {
    if (typeof expires !== "number" || expires === this.#expires) return;
    this.#expires = expires;
    const left = expires - this.#o.now();
    this.#after(left - Math.min(AHEAD, left * SHARE) * (0.5 + this.#o.random() / 2), expires);
  }

  /** error is for an error message, which may be the answer to a new token. */
  error(id: unknown, retryable: boolean): void {
    if (id === this.#id && retryable) this.#again(this.#expires);
  }

  /** forget is for the end of the connection, whose owner stops the timers. */
  forget(): void {
    this.#expires = this.#id = 0;
  }

  #after(ms: number, expires: number): void {
    this.#o.timers.after(Math.min(ms, LONGEST), () => {
      if (expires !== this.#expires) return; // it was renewed
      if (ms > LONGEST) this.#after(ms - LONGEST, expires);
      else void this.#renew(expires);
    });
  }

  async #renew(expires: number): Promise<void> {
    let token: string;
    try {
      token = await this.#o.token();
    } catch {
      return this.#again(expires);
    }
    if (expires === this.#expires) this.#o.send({ type: "token", id: (this.#id = this.#o.newId()), token });
  }

  #again(expires: number): void {
    const left = expires - this.#o.now();
    if (expires === this.#expires && left > 1_000) this.#after(Math.min(PAUSE, left / 3), expires);
  }
}
