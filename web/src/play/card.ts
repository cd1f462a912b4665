// The card at the end of a rain: the envelope opens, and the sum rolls. The celebration depends on the won share of the
// event.

import type { Winner } from "../rain/winners.ts";
import type { I18n } from "../shared/i18n.ts";
import { yuan } from "../shared/money.ts";
import { closable } from "./dialog.ts";
import { byId, write } from "./dom.ts";
import type { Round } from "./round.ts";
import type { Key, strings } from "./strings.ts";

const COUNTS = [0, 900, 1_300, 1_800]; // ms in which the amount is counted up, by tier
const OPENS = 450; // ms in which the envelope opens
const TIERS = [1.5, 4]; // times the average packet at which the second and the third tier begin
const RANK_FROM = 50; // percent: a lower rank is not shown
const DEAF = 450; // ms in which taps do not close the card: they were meant for the rain
const COMBO_FROM = 3;

/** Around are the parts of the page that the card needs. */
export interface Around {
  /** opens the list of packets */
  mine: () => void;
  /** makes a poster of a round */
  poster: (round: Round) => void;
  /** the envelope has opened; tier 1…3 */
  cheer: (tier: number) => void;
  /** the average packet of the event, minor units; 0: not known */
  average: () => number;
  /** whether to do without motion */
  still: () => boolean;
  closed: () => void;
}

/** Ending is the end of the card's rain. */
export interface Ending {
  /** what the host has ended early: this rain, or the event */
  early: "stopped" | "closed" | null;
  /** the event has no packets left, or is closed */
  over: boolean;
  /** the time until the next rain, as a text */
  next: string | null;
  /** the player who has won most of all */
  best: Winner | null;
  /** that is this player */
  leads: boolean;
}

/** Card shows a Round in a dialog. Its button, Esc and hide close it. */
export class Card {
  readonly #i18n: I18n<typeof strings>;
  readonly #dialog = closable("card");
  readonly #around: Around;
  readonly #amount = byId("card-amount");
  #round: Round | null = null;
  #shown = 0; // the amount on display, in minor units
  #from = 0;
  #to = 0;
  #began = 0; // when the counting began, ms
  #frame = 0;
  #opened = 0;
  #cheered = false;
  #posters = false;

  constructor(i18n: I18n<typeof strings>, around: Around) {
    this.#i18n = i18n;
    this.#around = around;
    const act = (then?: (round: Round) => void): void => {
      const round = this.#round;
      if (performance.now() - this.#opened < DEAF) return;
      this.#dialog.close();
      if (round) then?.(round);
    };
    byId("card-ok").addEventListener("click", () => act());
    byId("card-mine").addEventListener("click", () => act(around.mine));
    byId("card-poster").addEventListener("click", () => act(around.poster));
    this.#dialog.addEventListener("close", () => {
      if (this.#round) this.#round.dismissed = true;
      this.#round = null;
      cancelAnimationFrame(this.#frame);
      this.#frame = 0;
      around.closed();
    });
  }

  get open(): boolean {
    return this.#dialog.open;
  }

  /** posters offers a poster to players with a win. */
  posters(): void {
    this.#posters = true;
  }

  hide(): void {
    if (this.#dialog.open) this.#dialog.close();
  }

  /** show opens the card of a round, or updates it. */
  show(round: Round, { early, over, next, best, leads }: Ending): void {
    const t = this.#i18n.t.bind(this.#i18n);
    if (this.#round !== round) this.#open(round);
    this.#dialog.classList.toggle("won", round.wins > 0);
    const tier = tierOf(round, this.#around.average());
    this.#dialog.dataset.tier = String(tier);
    const [title, sub] = words(round, tier, over ? "over" : early ? "stopped" : "sub");
    write(byId("card-title"), t(title));
    write(byId("card-prizes"), this.#prizes(round));
    write(byId("card-rank"), this.rank(round));
    write(byId("card-hall"), best && best.amount >= round.amount ? t(leads ? "card_hall_you" : "card_hall", { user: best.user, amount: yuan(best.amount) }) : "");
    byId("card-poster").hidden = !this.#posters || !round.wins;
    write(byId("card-sub"), t(sub, { n: round.wins || round.unsure }));
    write(byId("card-unsure"), round.wins && round.unsure ? t(round.unsure === 1 ? "card_more_one" : "card_more", { n: round.unsure }) : "");
    write(byId("card-stopped"), early ? t(`card_${early}`) : "");
    write(byId("card-best"), round.wins > 1 ? `¥${yuan(round.best)}` : "");
    write(byId("card-taps"), round.taps > 0 && round.taps >= round.wins ? String(round.taps) : ""); // fewer than wins: the other taps were on another page
    write(byId("card-combo"), round.combo >= COMBO_FROM ? `×${round.combo}` : "");
    for (const row of this.#dialog.querySelectorAll<HTMLElement>("dl > div")) row.hidden = row.querySelector("dd")?.textContent === "";
    write(byId("card-ok"), t(round.wins ? "card_ok" : "card_close"));
    write(byId("card-next"), next === null ? "" : t("card_next", { time: next }));
    this.#count(round.amount, tier);
  }

  /** rank shows the rank of a round's best packet if the server has sent it and it is high. */
  rank({ wins, luck }: Round): string {
    return luck >= RANK_FROM ? this.#i18n.t(wins === 1 ? "card_rank_one" : "card_rank", { n: luck }) : "";
  }

  #prizes({ prizes: { gold, fortune } }: Round): string {
    const some = [gold && this.#i18n.t("card_gold", { n: gold }), fortune && this.#i18n.t("card_fortune", { n: fortune })];
    return some.filter(Boolean).join(" · ");
  }

  #open(round: Round): void {
    this.#round = round;
    this.#shown = this.#from = 0;
    this.#cheered = false;
    this.#opened = performance.now();
    write(this.#amount, round.wins ? `¥${yuan(0)}` : "");
    if (!this.#dialog.open) this.#dialog.showModal();
    byId("card-ok").focus({ preventScroll: true });
  }

  // count goes on from the amount on display when a late win arrives.
  #count(to: number, tier: number): void {
    if (this.#shown === to || (this.#frame && this.#to === to)) return;
    this.#to = to;
    this.#from = this.#shown;
    this.#began = Math.max(performance.now(), this.#opened + (this.#around.still() ? 0 : OPENS));
    cancelAnimationFrame(this.#frame);
    this.#step(tier);
  }

  #step(tier: number): void {
    const age = performance.now() - this.#began;
    if (age >= 0 && !this.#cheered) {
      this.#cheered = true;
      this.#around.cheer(tier);
    }
    const p = this.#around.still() ? 1 : Math.min(1, Math.max(0, age) / (COUNTS[tier] ?? 1));
    const eased = 1 - (1 - p) ** 3;
    this.#shown = Math.round(this.#from + (this.#to - this.#from) * eased);
    write(this.#amount, `¥${yuan(this.#shown)}`);
    this.#amount.style.setProperty("--chars", String(yuan(this.#to).length + 1));
    this.#frame = p < 1 ? requestAnimationFrame(() => this.#step(tier)) : 0;
  }
}

// tierOf returns the size of the celebration, 1…3, by the won share of the event and not by the amount; 0 for none.
function tierOf(round: Round, average: number): number {
  if (!round.wins) return 0;
  return 1 + TIERS.filter((from) => average > 0 && round.amount >= from * average).length;
}

// words returns the title and the line below it. A player who has only watched gets advice on how to win only if the
// rain fell to its end and the event goes on.
function words(round: Round, tier: number, end: "over" | "stopped" | "sub"): readonly [Key, Key] {
  if (round.wins) return [tier > 2 ? "card_won_3" : tier > 1 ? "card_won_2" : "card_won", round.wins === 1 ? "card_won_sub_one" : "card_won_sub"];
  if (round.unsure) return ["card_unsure", round.unsure === 1 ? "card_unsure_sub_one" : "card_unsure_sub"];
  return round.taps ? ["card_none", "card_none_sub"] : ["card_watched", `card_watched_${end}`];
}
