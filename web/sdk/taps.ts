// Taps in flight: each drop has one promise, and each promise one answer.

import type { Drop, ErrorMessage, ResultMessage, TapResult } from "./redrain.d.ts";

const GRACE = 500; // ms after its landing in which a drop can still be tapped
const LONGEST_FALL = 20_000; // ms; of a drop with only its id known
const PATIENCE = 10_000; // ms after all that, for the connection to come back and the answer to come with it

/** Tap is a tap without an answer yet. */
interface Tap {
  /** Its id on the wire. */
  id: number;
  drop: string;
  promise: Promise<TapResult>;
  answer: (result: TapResult) => void;
}

/** Taps are those without an answer. A promise settles at the latest PATIENCE after its drop cannot be tapped any more. */
export class Taps {
  #byDrop = new Map<string, Tap>();
  #byId = new Map<number, Tap>();

  /** add begins a tap; now is the server's time. If the drop is in flight already, `fresh` is null. */
  add(drop: string | Drop, newId: () => number, now: number): { promise: Promise<TapResult>; fresh: Tap | null } {
    const [name, left] = typeof drop === "string" ? [drop, LONGEST_FALL] : [drop.id, Math.min(LONGEST_FALL, drop.at + drop.fall_ms - now)];
    const known = this.#byDrop.get(name);
    if (known) return { promise: known.promise, fresh: null };
    let settle: (result: TapResult) => void = () => {};
    const promise = new Promise<TapResult>((resolve) => (settle = resolve));
    const timer = setTimeout(() => this.#drop(tap, unavailable(name)), Math.max(0, left) + GRACE + PATIENCE);
    const tap: Tap = {
      id: newId(), drop: name, promise,
      answer: (result) => {
        clearTimeout(timer);
        settle(result);
      },
    };
    this.#byDrop.set(name, tap);
    this.#byId.set(tap.id, tap);
    return { promise, fresh: tap };
  }

  /** result answers the tap that a result belongs to. It goes by the id: a drop's id may be another campaign's as well. */
  result(m: ResultMessage): void {
    const tap = this.#byId.get(m.id);
    if (tap) this.#drop(tap, toResult(m));
  }

  /** error answers the tap that an error belongs to. */
  error(m: ErrorMessage): void {
    const tap = this.#byId.get(m.id as number);
    if (tap) this.#drop(tap, { drop: tap.drop, outcome: "error", code: m.code, message: m.message, retryable: m.retryable === true });
  }

  /** giveUp answers all taps with "unavailable". A win among them is in the next welcome. */
  giveUp(): void {
    for (const tap of this.list()) this.#drop(tap, unavailable(tap.drop));
  }

  /** has reports whether a tap is still without an answer. */
  has(tap: Tap): boolean {
    return this.#byId.get(tap.id) === tap;
  }

  /** list is the taps without an answer, in the order in which they were tapped. */
  list(): Tap[] {
    return [...this.#byId.values()];
  }

  #drop(tap: Tap, result: TapResult): void {
    this.#byDrop.delete(tap.drop);
    this.#byId.delete(tap.id);
    tap.answer(result);
  }
}

/** unavailable is the answer to a tap that is given up. The drop is gone, or its room is: there is nothing to tap again. */
function unavailable(drop: string): TapResult {
  return { drop, outcome: "unavailable", retryable: false };
}

function toResult({ drop, outcome, amount = 0, packet = "", claim = "", luck = 0 }: ResultMessage): TapResult {
  if (outcome === "won") return { drop, outcome, amount, packet, claim, luck, retryable: false };
  return { drop, outcome, retryable: outcome === "unavailable" || outcome === "too_fast" };
}

export type { Tap };
