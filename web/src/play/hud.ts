// The texts around and above the canvas. They decide nothing about the game.

import type { Campaign } from "../../sdk/index.ts";
import { clock } from "../rain/phase.ts";
import { calling, type Winner } from "../rain/winners.ts";
import { pictureOf, type Profile } from "../shared/faces.ts";
import type { I18n, Lang } from "../shared/i18n.ts";
import { yuan } from "../shared/money.ts";
import { byId, entitle, picture, replay, write } from "./dom.ts";
import type { Stage } from "./stage.ts";
import type { strings } from "./strings.ts";
import type { Wallet } from "./wallet.ts";

const COMBO_FROM = 3;
const SAID = 1_600; // ms for which the line about a tap stays

/** About holds the stage's data of the event; before the player is in the room it may be incomplete. */
export type About = Partial<Pick<Campaign, "name" | "wins_per_user" | "budget" | "packets">> & { guests?: boolean; names?: boolean; starts_in_ms?: number; told?: number; join?: string };

/** Hud shows texts of an I18n. */
export class Hud {
  readonly #i18n: I18n<typeof strings>;
  readonly #big = byId("big");
  readonly #purse = byId("purse");
  readonly #progress = byId("progress");
  readonly #coin = byId("ticker").firstElementChild as Element;
  readonly #broken = new Set<string>(); // addresses of pictures that cannot be loaded
  #combo = 0;
  #said = 0;

  constructor(i18n: I18n<typeof strings>) {
    this.#i18n = i18n;
  }

  /** stage writes the middle. It returns whether the big number has changed. */
  stage(s: Stage, about: About | null): boolean {
    const { body } = document;
    const i18n = this.#i18n;
    if (body.dataset.mode !== s.mode) body.dataset.mode = s.mode;
    const rule = s.about && about?.wins_per_user ? about.wins_per_user : 0;
    const name = s.about ? (about?.name ?? "") : "";
    const landing = s.mode === "landing" && name !== ""; // there the event itself is the headline
    const title = about?.name ? `${about.name} · ${i18n.t("title")}` : i18n.t("title");
    if (document.title !== title) document.title = title; // a chat shows it with the page's address
    entitle(byId("campaign"), landing ? "" : name);
    entitle(byId("stage-title"), landing ? name : s.title ? i18n.t(s.title, s.values) : "");
    const time = s.when && s.when > 0 ? this.lasting(s.when) : "";
    const rain = s.mode === "landing" && time ? `${i18n.t("sheet_next", { time })}\n` : "";
    write(byId("stage-hint"), rain + (s.hint ? i18n.t(s.hint, { ...s.values, time }) : ""));
    write(byId("rule"), rule ? i18n.t(rule === 1 ? "rule_win" : "rule_wins", { n: rule }) : "");
    const { budget = 0, packets = 0 } = (s.about && about) || {};
    write(byId("pool"), budget ? i18n.t("pool", { amount: yuan(budget), packets: grouped(packets) }) : "");
    write(byId("note"), s.note ? i18n.t(s.note.key, s.note.values) : "");
    return this.#number(s.big === undefined ? "" : s.big === "go" ? i18n.t("go") : s.big, s.calm ?? false);
  }

  // number animates each new number; a long time is a clock without animation.
  #number(text: string, calm: boolean): boolean {
    const el = this.#big;
    if (!write(el, text)) return false;
    el.classList.toggle("calm", calm);
    if (calm) el.classList.remove("pop");
    else replay(el, "pop");
    return text !== "";
  }

  /** lasting is the remaining time in words; from an hour on, a clock. */
  lasting(ms: number): string {
    const s = Math.max(0, Math.ceil(ms / 1000));
    if (s >= 3600) return clock(ms);
    return s < 60 ? this.#i18n.t("seconds", { s }) : this.#i18n.t("minutes", { m: Math.floor(s / 60), s: s % 60 });
  }

  /** facts: online and stock may not be known yet; progress is the part of the rain that is left, 0…1. */
  facts(online: number | null, stock: number | null, progress: number): void {
    byId("online-dot").hidden = online === null;
    write(byId("online"), online === null ? "–" : compact(online, this.#i18n.lang));
    write(byId("stock"), stock === null ? "–" : compact(stock, this.#i18n.lang));
    write(byId("here"), online !== null && online > 1 ? this.#i18n.t("here", { n: compact(online, this.#i18n.lang) }) : "");
    this.#progress.parentElement?.classList.toggle("on", progress > 0); // a pause between two rains has none
    this.#progress.style.transform = `scaleX(${progress.toFixed(4)})`;
  }

  purse(wallet: Wallet): void {
    const n = wallet.count;
    write(byId("balance"), wallet.balance === null ? "–" : yuan(wallet.balance));
    write(byId("mine-count"), n ? String(n) : "");
    this.#purse.classList.toggle("coming", wallet.coming > 0);
  }

  /** bump animates the purse when money has arrived. */
  bump(): void {
    replay(this.#purse, "bump");
  }

  /** say shows the line about a tap below the purse, where it covers no packet. won: money comes with it. */
  say(text: string, won: boolean): void {
    const el = byId("gain");
    write(el, text);
    el.classList.toggle("won", won);
    replay(el, "rises");
    clearTimeout(this.#said);
    this.#said = setTimeout(() => write(el, ""), SAID);
    if (won) this.bump();
  }

  /** banner shows the fault of the connection and a remedy, and the seconds until the next try if there are any. */
  banner(text: string | null, seconds: number, hint: string): void {
    const el = byId("banner");
    write(byId("banner-text"), text ?? "");
    write(byId("banner-in"), text && seconds > 0 ? this.#i18n.t("seconds", { s: seconds }) : "");
    write(byId("banner-hint"), hint);
    el.hidden = !text;
  }

  /** ticker shows a winner; own: it is the player. */
  ticker(winner: Winner | null, own = false): void {
    const el = byId("ticker");
    el.hidden = !winner;
    if (!winner) return;
    const line = byId("ticker-text");
    if (!write(line, this.#i18n.t(own ? "ticker_you" : "ticker", { user: this.called(winner), amount: yuan(winner.amount) }))) return;
    replay(line, "slide");
    el.firstElementChild?.replaceWith(this.#picture(pictureOf(winner)));
  }

  // picture is a winner's, or the coin. Each is a new element: a changed address would show the previous picture until
  // the next one is loaded.
  #picture(address: string | undefined): Element {
    if (!address || this.#broken.has(address)) return this.#coin;
    const image = Object.assign(new Image(20, 20), { alt: "", referrerPolicy: "no-referrer" });
    image.onerror = () => {
      this.#broken.add(address);
      image.replaceWith(this.#coin);
    };
    image.src = address;
    return image;
  }

  /** called returns a player's displayed name: the name, or a masked id. */
  called({ user, name }: Winner): string {
    return name ? calling(name) : this.name(user);
  }

  /** name returns the displayed form of a masked name: for a guest, a word and the visible digits. */
  name(user: string): string {
    const guest = /^g\*(\w{4})$/.exec(user);
    return guest?.[1] ? this.#i18n.t("guest", { name: guest[1] }) : user;
  }

  combo(n: number): void {
    if (n === this.#combo) return;
    const el = byId("combo");
    if (n >= COMBO_FROM) {
      write(byId("combo-n"), `×${n}`);
      replay(el, "pop");
    }
    el.classList.toggle("on", n >= COMBO_FROM);
    this.#combo = n;
  }

  /** user shows the player as others see them. The id is in the title, for an organizer who asks for it. */
  user(id: string, profile: Profile): void {
    byId("user").title = id;
    write(byId("user"), id ? this.#i18n.t("player", { user: profile.name ? calling(profile.name) : this.player(id) }) : "");
    picture(byId("user-face", HTMLImageElement), pictureOf(profile));
    byId("player").hidden = !id;
  }

  /** player returns the displayed form of a player's id. For a generated id it is a word and the end of the id. */
  player(id: string): string {
    const [, kind, end = ""] = /^(guest|wx|oidc)-\w*?(\w{4})$/.exec(id) ?? [];
    return kind ? this.#i18n.t(kind === "guest" ? "guest" : "player_id", { name: end }) : id;
  }

  sound(on: boolean): void {
    const el = byId("sound");
    el.setAttribute("aria-label", this.#i18n.t(on ? "sound_off" : "sound_on"));
    el.classList.toggle("on", on);
  }
}

/** compact keeps the head of the page narrow, and exact as long as there is room: 99,999, then 10.0万 or 100.0k. */
export function compact(n: number, lang: Lang): string {
  if (n < 100_000) return grouped(n);
  const [unit, sign] = lang === "zh" ? (n < 1e8 ? [1e4, "万"] : [1e8, "亿"]) : n < 1e6 ? [1e3, "k"] : [1e6, "m"];
  return `${(Math.floor((n * 10) / unit) / 10).toFixed(1)}${sign}`;
}

/** grouped is a number with its thousands set apart. */
function grouped(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}
