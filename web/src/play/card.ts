// The card at the end of a rain.

import type { I18n } from "../shared/i18n.ts";
import { yuan } from "../shared/money.ts";
import { dialog } from "./dialog.ts";
import { byId, write } from "./dom.ts";
import type { Round } from "./round.ts";
import type { Key, strings } from "./strings.ts";

const COUNTS = 900; // ms in which the amount is counted up
const DEAF = 450; // ms in which taps do not close the card: they were meant for the rain
const COMBO_FROM = 3;

/** Around is what the card needs of the page. */
export interface Around {
  /** opens the list of packets */
  mine: () => void;
  /** whether to do without motion */
  still: () => boolean;
  closed: () => void;
}

/** Card shows a Round in a dialog. Its button, Esc and show(null) close it. */
export class Card {
  readonly #i18n: I18n<typeof strings>;
  readonly #dialog = dialog("card");
  readonly #still: () => boolean;
  readonly #amount = byId("card-amount");
  #round: Round | null = null;
  #shown = 0; // the amount on display, in minor units
  #from = 0;
  #to = 0;
  #began = 0; // when the counting began, ms
  #frame = 0;
  #opened = 0;

  constructor(i18n: I18n<typeof strings>, around: Around) {
    this.#i18n = i18n;
    this.#still = around.still;
    const act = (then?: () => void): void => {
      if (performance.now() - this.#opened < DEAF) return;
      this.#dialog.close();
      then?.();
    };
    byId("card-ok").addEventListener("click", () => act());
    byId("card-mine").addEventListener("click", () => act(around.mine));
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

  /** show updates the card, or closes it with null. next is the time until the next rain, as a text. */
  show(round: Round | null, stopped: boolean, next: string | null): void {
    if (!round) {
      if (this.#dialog.open) this.#dialog.close();
      return;
    }
    const t = this.#i18n.t.bind(this.#i18n);
    if (this.#round !== round) this.#open(round);
    this.#dialog.classList.toggle("won", round.wins > 0);
    const [title, sub] = words(round);
    write(byId("card-title"), t(title));
    write(byId("card-sub"), t(sub, { n: round.wins || round.unsure }));
    write(byId("card-unsure"), round.wins && round.unsure ? t(round.unsure === 1 ? "card_more_one" : "card_more", { n: round.unsure }) : "");
    write(byId("card-stopped"), stopped ? t("card_stopped") : "");
    write(byId("card-best"), round.wins > 1 ? `¥${yuan(round.best)}` : "");
    write(byId("card-taps"), round.taps > 0 ? String(round.taps) : "");
    write(byId("card-combo"), round.combo >= COMBO_FROM ? `×${round.combo}` : "");
    for (const row of this.#dialog.querySelectorAll<HTMLElement>("dl > div")) row.hidden = row.querySelector("dd")?.textContent === "";
    write(byId("card-ok"), t(round.wins ? "card_ok" : "card_close"));
    write(byId("card-next"), next === null ? "" : t("card_next", { time: next }));
    this.#count(round.amount);
  }

  #open(round: Round): void {
    this.#round = round;
    this.#shown = this.#from = 0;
    this.#opened = performance.now();
    write(this.#amount, round.wins ? `¥${yuan(0)}` : "");
    if (!this.#dialog.open) this.#dialog.showModal();
    byId("card-ok").focus({ preventScroll: true });
  }

  // count goes on from the amount on display when a late win arrives.
  #count(to: number): void {
    if (this.#shown === to || (this.#frame && this.#to === to)) return;
    this.#to = to;
    this.#from = this.#shown;
    this.#began = performance.now();
    cancelAnimationFrame(this.#frame);
    this.#step();
  }

  #step(): void {
    const p = this.#still() ? 1 : Math.min(1, (performance.now() - this.#began) / COUNTS);
    const eased = 1 - (1 - p) ** 3;
    this.#shown = Math.round(this.#from + (this.#to - this.#from) * eased);
    write(this.#amount, `¥${yuan(this.#shown)}`);
    this.#amount.style.setProperty("--chars", String(yuan(this.#to).length + 1));
    this.#frame = p < 1 ? requestAnimationFrame(() => this.#step()) : 0;
  }
}

function words(round: Round): readonly [Key, Key] {
  if (round.wins) return ["card_won", round.wins === 1 ? "card_won_sub_one" : "card_won_sub"];
  if (round.unsure) return ["card_unsure", round.unsure === 1 ? "card_unsure_sub_one" : "card_unsure_sub"];
  return round.taps ? ["card_none", "card_none_sub"] : ["card_watched", "card_watched_sub"];
}
