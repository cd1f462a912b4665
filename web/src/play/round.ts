// One rain as this player has played it: the figures of its card.

import type { Prize } from "../rain/prize.ts";

/** Round counts the answers of the server. A claim counts once, however often it arrives. Amounts are minor units. */
export class Round {
  /** the rain's id */
  readonly rain: string;
  taps = 0;
  wins = 0;
  amount = 0;
  best = 0;
  /** of a hundred packets of the event, how many are smaller than the best; 0: not known, or none */
  luck = 0;
  /** packets of much more than the average, by kind */
  readonly prizes: Record<Prize, number> = { plain: 0, gold: 0, fortune: 0 };
  combo = 0;
  /** the page has seen it falling */
  played = false;
  /** the card was closed by the player or for the next rain */
  dismissed = false;
  /** taps without an answer yet */
  pending = 0;
  /** taps without an answer: the next welcome has their wins */
  lost = 0;
  readonly #claims = new Set<string>();

  constructor(rain: string) {
    this.rain = rain;
  }

  /** unsure returns the number of taps with an unknown result: until it is 0, the rain is not shown as lost. */
  get unsure(): number {
    return this.pending + this.lost;
  }

  /** won notes a win; luck is the server's word on it. It returns whether the win is new. */
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

/** Rounds keeps the current rain and the one before, whose card may still be open and whose last answers may still arrive. */
export class Rounds {
  #kept: Round[] = []; // the newest first

  /** of is the round of a rain; it makes one for a new rain. */
  of(rain: string): Round {
    let round = this.#kept.find((r) => r.rain === rain);
    if (!round) {
      round = new Round(rain);
      this.#kept = [round, ...this.#kept].slice(0, 2);
    }
    return round;
  }

  /** card is the newest round that was played and whose card was not closed. */
  card(over: (rain: string) => boolean): Round | null {
    return this.#kept.find((r) => r.played && !r.dismissed && over(r.rain)) ?? null;
  }

  /** unheard returns the round of an unreported win: the falling rain, or the last one with unanswered taps. */
  unheard(rain: string | undefined): Round | null {
    return this.#kept.find((r) => r.played && (r.rain === rain || r.unsure > 0)) ?? null;
  }

  /** told handles a welcome, which names every win: no tap is unsure any more. */
  told(): void {
    for (const r of this.#kept) r.lost = 0;
  }

  clear(): void {
    this.#kept = [];
  }
}

const WINDOW = 2_500; // ms between two hits of one combo

/** Combo counts hits in quick succession. A hit is a packet that the server has opened, with or without a win; a bomb ends it. */
export class Combo {
  #count = 0;
  #last = -Infinity;

  /** value is the present combo at a time (ms of a steady clock). */
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
