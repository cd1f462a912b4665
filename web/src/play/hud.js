// The page around the canvas: reads a model, writes the document. It decides nothing about the game.

import { yuan } from "../shared/money.ts";

const $ = (id) => document.getElementById(id);

// Hud shows texts of an I18n.
export class Hud {
  #i18n;
  #last = new Map(); // element → what it shows, so that only changes touch the document

  constructor(i18n) {
    this.#i18n = i18n;
  }

  // stage writes the middle; see stage.js.
  stage(s) {
    const t = (key, values) => (key ? this.#i18n.t(key, values) : "");
    const { body } = document;
    if (body.dataset.mode !== s.mode) body.dataset.mode = s.mode;
    this.#text($("campaign"), s.campaign?.name ?? "");
    this.#text($("stage-title"), t(s.title, s.values));
    this.#text($("stage-hint"), t(s.hint, s.values));
    this.#text($("rule"), s.campaign ? rule(t, s.campaign) : "");
    this.#big(s.big === undefined ? "" : this.#i18n.has(s.big) ? t(s.big) : s.big);
  }

  // big pops at each new number.
  #big(text) {
    const el = $("big");
    if (!this.#text(el, text)) return;
    el.classList.toggle("long", text.length > 3);
    el.classList.remove("pop");
    void el.offsetWidth; // lets the animation start anew
    el.classList.add("pop");
  }

  facts({ online, stock, progress }) {
    this.#text($("online"), online == null ? "–" : compact(online));
    this.#text($("stock"), stock == null ? "–" : compact(stock));
    $("progress").style.transform = `scaleX(${progress})`;
  }

  purse(wallet) {
    this.#text($("balance"), wallet.balance == null ? "–" : yuan(wallet.balance));
    const n = wallet.count;
    this.#text($("mine-count"), n ? String(n) : "");
    $("purse").classList.toggle("coming", wallet.coming > 0);
  }

  // bump draws the eye to the purse when money has arrived.
  bump() {
    const el = $("purse");
    el.classList.remove("bump");
    void el.offsetWidth;
    el.classList.add("bump");
  }

  banner(text) {
    this.#text($("banner"), text ?? "");
    $("banner").hidden = !text;
  }

  ticker(winner) {
    const el = $("ticker");
    el.hidden = !winner;
    if (!winner) return;
    const text = this.#i18n.t("ticker", { user: winner.user, amount: yuan(winner.amount) });
    if (!this.#text($("ticker-text"), text)) return;
    $("ticker-text").classList.remove("slide");
    void el.offsetWidth;
    $("ticker-text").classList.add("slide");
  }

  // card is the end of a rain; null hides it.
  card(round) {
    const el = $("card");
    el.hidden = !round;
    document.body.classList.toggle("has-card", Boolean(round));
    if (!round) return;
    const t = (key, values) => this.#i18n.t(key, values);
    el.classList.toggle("won", round.wins > 0);
    this.#text($("card-title"), t(round.wins ? "card_won" : "card_none"));
    this.#text($("card-amount"), round.wins ? `¥${yuan(round.amount)}` : "");
    const sub = round.wins === 1 ? "card_won_sub_one" : round.wins ? "card_won_sub" : "card_none_sub";
    this.#text($("card-sub"), t(sub, { n: round.wins }));
    this.#text($("card-taps"), t(round.taps === 1 ? "card_tap" : "card_taps", { n: round.taps }));
  }

  signin(show) {
    $("signin").hidden = !show;
  }

  retry(show) {
    $("retry").hidden = !show;
  }

  user(name) {
    this.#text($("user"), name ? this.#i18n.t("player", { user: name }) : "");
  }

  announce(text) {
    $("announce").textContent = text;
  }

  #text(el, text) {
    if (this.#last.get(el) === text) return false;
    this.#last.set(el, text);
    el.textContent = text;
    return true;
  }
}

function rule(t, campaign) {
  return t(campaign.wins_per_user === 1 ? "rule_win" : "rule_wins", { n: campaign.wins_per_user });
}

// compact keeps the head of the page narrow: 12,345 is 12.3k.
function compact(n) {
  if (n < 10_000) return String(n);
  if (n < 1_000_000) return `${(Math.floor(n / 100) / 10).toFixed(1)}k`;
  return `${(Math.floor(n / 10_000) / 100).toFixed(2)}m`;
}
