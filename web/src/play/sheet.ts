// The sheet "my packets": the wins, which of them are in the balance already, and withdrawals.

import { request } from "../shared/api.ts";
import { yuan } from "../shared/money.ts";
import { numbered } from "../shared/packet.ts";
import { within } from "../shared/patience.ts";
import type { Withdrawal } from "../../sdk/index.ts";
import type { Balance, Claim } from "../shared/schemas.ts";
import { closable } from "./dialog.ts";
import { inWeChat } from "../shared/wechat.ts";
import { byId, span, write } from "./dom.ts";
import { lobby, named } from "./lobby.ts";
import { addressOf, wayOf } from "./login.ts";
import type { Key } from "./strings.ts";
import type { Entry, Wallet } from "./wallet.ts";
import type { Transfer } from "../late/transfer.ts";
import type { Withdraw, Parts as WithdrawParts } from "../late/withdraw.ts";
import { late } from "./late.ts";

const SHOWN = 100; // rows of a list
const PATIENCE = 15_000; // ms for an answer, because the connection may be dead
const AGAIN = 3_000; // ms between two requests while a withdrawal is in flight

/** Parts are the parts of the page that the sheet needs. */
export interface Parts extends WithdrawParts {
  /** gets the newest claims of the ledger */
  earlier: (claims: readonly Claim[]) => void;
}

/** Sheet shows a Wallet in a dialog, and keeps it up to date while it is open. */
export class Sheet {
  readonly #parts: Parts;
  readonly #dialog = closable("sheet");
  #withdraw: Withdraw | null = null; // these two are loaded later
  #transfer: Transfer | null = null;
  #timer = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    parts.wallet.addEventListener("change", () => this.render());
    parts.i18n.onChange(() => this.render());
    byId("sign-out").addEventListener("click", () => {
      parts.session.forget();
      location.reload();
    });
    byId("sheet-close").addEventListener("click", () => this.#dialog.close());
    this.#dialog.addEventListener("click", (e) => {
      if (e.target === this.#dialog) this.#dialog.close(); // a click outside of the dialog
    });
    this.#dialog.addEventListener("close", () => clearTimeout(this.#timer));
  }

  get isOpen(): boolean {
    return this.#dialog.open;
  }

  open(): void {
    if (this.#dialog.open) return;
    this.#dialog.showModal();
    this.render();
    void this.#follow();
    void this.#login();
    void late().then((there) => {
      if (!there || this.#withdraw) return;
      const done = (): void => void this.#follow();
      this.#withdraw = new there.Withdraw(this.#parts, done);
      this.#transfer = new there.Transfer({ ...this.#parts, dialog: closable("transfer"), done });
      this.render();
    });
  }

  close(): void {
    this.#transfer?.close();
    this.#dialog.close();
  }

  // login offers guests to log in, because their withdrawals may need an account to pay to.
  async #login(): Promise<void> {
    const link = byId("sheet-login", HTMLAnchorElement);
    link.hidden = true;
    if (!this.#parts.session.guest) return;
    const about = await lobby(named()).catch(() => null);
    const way = wayOf(about?.logins);
    if (way) link.href = addressOf(way, about?.names);
    link.hidden = !way;
  }

  /** next shows that a rain is about to begin; "" hides it. */
  next(text: string): void {
    const el = byId("sheet-next");
    write(el, text);
    el.hidden = text === "";
  }

  /** refresh reads the ledger: the socket does not repeat messages from while the player was away. */
  async refresh(): Promise<void> {
    const { wallet, session } = this.#parts;
    const { told } = wallet;
    try {
      const token = await session.token();
      const signal = within(PATIENCE);
      const [me, claims, out] = await Promise.all([
        request<Balance>("/me", { token, signal }),
        request<{ items: Claim[] }>(`/me/claims?limit=${SHOWN}`, { token, signal }),
        request<{ items: Withdrawal[] }>(`/me/withdrawals?limit=${SHOWN}`, { token, signal }),
      ]);
      for (const w of out.items) wallet.withdrawal(w);
      wallet.listed = true;
      wallet.payout = me.payout ?? null;
      wallet.page(claims.items);
      this.#parts.earlier(claims.items);
      if (wallet.told === told) wallet.me(me.balance); // otherwise a message has brought a newer balance
      this.#stale(false);
    } catch {
      this.#stale(true); // keeps the loaded data; the next opening tries again
    }
  }

  // follow asks every AGAIN ms while a win or a withdrawal is pending: a message may be lost, or arrive before an older
  // list.
  async #follow(): Promise<void> {
    clearTimeout(this.#timer);
    await this.refresh();
    const { wallet } = this.#parts;
    const waiting = wallet.coming > 0 || wallet.withdrawals().some((w) => w.state === "pending");
    clearTimeout(this.#timer);
    if (this.#dialog.open && waiting) this.#timer = setTimeout(() => void this.#follow(), AGAIN);
  }

  #stale(stale: boolean): void {
    write(byId("sheet-stale"), stale ? this.#parts.i18n.t("list_failed") : "");
  }

  render(): void {
    if (!this.#dialog.open) return;
    const { i18n, wallet, session } = this.#parts;
    byId("sign-out").hidden = session.guest || !session.known;
    const claims = wallet.list().slice(0, SHOWN);
    const out = wallet.withdrawals().slice(0, SHOWN);
    write(byId("sheet-balance"), wallet.balance === null ? "–" : yuan(wallet.balance));
    write(byId("sheet-coming"), wallet.coming ? i18n.t("coming", { amount: yuan(wallet.coming) }) : "");
    write(byId("sheet-more"), wallet.count > claims.length ? i18n.t("more", { n: claims.length, total: wallet.count }) : "");
    byId("sheet-empty").hidden = claims.length > 0;
    byId("sheet-list").replaceChildren(...claims.map((c) => this.#claim(c)));
    byId("withdrawals-title").hidden = out.length === 0;
    byId("withdrawals").replaceChildren(...out.map((w) => this.#out(w)));
    this.#withdraw?.render();
    this.#transfer?.follow(out);
  }

  #claim(c: Entry): HTMLLIElement {
    const { i18n } = this.#parts;
    const what = c.packet ? i18n.t("packet", { packet: numbered(c.packet) }) : i18n.t("packet_plain");
    const li = row(span("what", what), span(`state ${c.state}`, i18n.t(c.held && c.state === "granted" ? "held" : c.state)), span("amount", `+${yuan(c.amount)}`));
    if (c.at) li.append(span("why", clock(i18n.lang, c.at))); // each campaign has a packet of that number
    return li;
  }

  #out(w: Withdrawal): HTMLLIElement {
    const { i18n } = this.#parts;
    const time = clock(i18n.lang, w.created_at);
    const key = stateKey(w, this.#parts.wallet.paid);
    const li = row(span("what", time), span(`state ${w.state}`, i18n.t(key)), span("amount", `−${yuan(w.amount)}`));
    const more = w.state === "failed" ? w.reason : w.reference;
    if (more) li.append(span("why", more));
    if (w.stage === "action_required") li.append(this.#action(w));
    return li;
  }

  // action shows the player's action before a withdrawal is paid. Only an https address becomes a link, because it
  // comes from the payment provider.
  #action(w: Withdrawal): HTMLElement {
    const { i18n } = this.#parts;
    const box = span("todo", "");
    if (w.action?.kind === "wechat") {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: i18n.t(inWeChat ? "w_confirm" : "w_confirm_scan") });
      button.addEventListener("click", () => this.#transfer?.confirm(w));
      box.append(button);
    } else if (w.action?.url?.startsWith("https://")) {
      const link = document.createElement("a");
      link.href = w.action.url;
      link.target = "_blank";
      link.rel = "noopener noreferrer";
      link.textContent = i18n.t("w_confirm");
      box.append(link);
    } else box.append(span("soft", i18n.t("w_confirm_app")));
    if (w.action?.expires_at) box.append(span("soft", i18n.t("w_confirm_until", { time: clock(i18n.lang, w.action.expires_at) })));
    return box;
  }
}

/** stateKey is the text of a withdrawal's state. */
function stateKey(w: Withdrawal, paid: Wallet["paid"]): Key {
  if (w.stage === "held") return "w_held";
  if (w.stage === "action_required") return "w_action";
  if (w.stage === "returned") return "w_returned";
  return `w_${w.state === "paid" ? paid : w.state}`;
}

function clock(lang: string, at: number): string {
  return new Date(at).toLocaleString(lang === "zh" ? "zh-CN" : "en-GB", { month: "numeric", day: "numeric", hour: "2-digit", minute: "2-digit" });
}

function row(...parts: HTMLElement[]): HTMLLIElement {
  const li = document.createElement("li");
  li.append(...parts);
  return li;
}
