// One rain of this player: the figures of its card.

import type { Prize } from "../rain/prize.ts";

/** Round counts the answers of the server. A claim counts once, however often it arrives. Amounts are minor units. */
export class Round {
  /** the rain's id */
  readonly rain: string;
  taps = 0;
  wins = 0;
  amount = 0;
  best = 0;
  /** percent of the event's packets that are smaller than the best one; 0: unknown, or none */
  luck = 0;
  /** packets of much more than the average, by kind */
  readonly prizes: Record<Prize, number> = { plain: 0, gold: 0, fortune: 0 };
  combo = 0;
  /** the page has shown the falling rain */
  played = false;
  /** the card was closed by the player, or for the next rain */
  dismissed = false;
  /** taps in flight */
  pending = 0;
  /** taps whose answer was lost: the next welcome has their wins */
  lost = 0;
  readonly #claims = new Set<string>();

  constructor(rain: string) {
    this.rain = rain;
  }

  /** unsure returns the number of taps with an unknown result: until it is 0, the rain is not shown as lost. */
  get unsure(): number {
    return this.pending + this.lost;
  }

  /** won notes a win; luck is its rank from the server. It returns whether the win is new. */
  won(claim: string, amount: number, prize: Prize, luck = 0): boolean {
    this.luck = Math.max(this.luck, luck);
    if (this.#claims.has(claim)) return false;
    this.#claims.add(claim);
    this.wins++;
    this.amount += amount;
    this.best = Math.max(this.best, amount);
    this.prizes[prize]++;
    return true;
  }
}

/**
 * Rounds keeps the current rain and the one before: its card may still be open, and its last answers may still arrive.
 */
export class Rounds {
  #kept: Round[] = []; // the newest first

  /** of returns the round of a rain, and creates it for a new rain. */
  of(rain: string): Round {
    let round = this.#kept.find((r) => r.rain === rain);
    if (!round) {
      round = new Round(rain);
      this.#kept = [round, ...this.#kept].slice(0, 2);
    }
    return round;
  }

  /** card returns the newest played round whose card was not closed. */
  card(over: (rain: string) => boolean): Round | null {
    return this.#kept.find((r) => r.played && !r.dismissed && over(r.rain)) ?? null;
  }

  /** unheard returns the round of an unreported win: the falling rain, or the last one with unanswered taps. */
  unheard(rain: string | undefined): Round | null {
    return this.#kept.find((r) => r.played && (r.rain === rain || r.unsure > 0)) ?? null;
  }

  /** told handles a welcome. It names every win, so that no tap is unsure any more. */
  told(): void {
    for (const r of this.#kept) r.lost = 0;
  }

  clear(): void {
    this.#kept = [];
  }
}

const WINDOW = 2_500; // ms between two hits of one combo

/** Combo counts hits in quick succession. A hit is an opened packet, with or without a win; a bomb ends the combo. */
export class Combo {
  #count = 0;
  #last = -Infinity;

  /** value is the combo at a time (ms of a steady clock). */
  value(now: number): number {
    return now - this.#last <= WINDOW ? this.#count : 0;
  }

  hit(now: number): number {
    this.#count = this.value(now) + 1;
    this.#last = now;
    return this.#count;
  }

  end(): void {
    this.#count = 0;
  }
}
