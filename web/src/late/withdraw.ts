// Withdrawals: a form that makes one withdrawal, even if its button is pressed twice.

import { ApiError, newKey, request } from "../shared/api.ts";
import { I18n, type Values } from "../shared/i18n.ts";
import { minor, yuan } from "../shared/money.ts";
import { within } from "../shared/patience.ts";
import type { Withdrawn } from "../shared/schemas.ts";
import type { Session } from "../shared/session.ts";
import { byId, write } from "../play/dom.ts";
import type { strings } from "../play/strings.ts";
import type { Wallet } from "../play/wallet.ts";
import { withdrawing } from "./strings.ts";

const PATIENCE = 15_000; // ms for an answer: on a dead line a browser would wait for minutes

/** Parts are the parts of the page that the form needs. */
export interface Parts {
  i18n: I18n<typeof strings>;
  wallet: Wallet;
  session: Session;
  announce: (text: string) => void;
}

type Key = keyof typeof withdrawing;

/** Message is the line below the form, kept as a key so that it follows the language. */
interface Message {
  key: Key;
  values?: Record<string, string>;
  good?: boolean;
  withdrawal?: string; // the withdrawal in the message
}

/** Withdraw shows and sends the form. */
export class Withdraw {
  readonly #parts: Parts;
  readonly #done: () => void;
  readonly #form = byId("withdraw", HTMLFormElement);
  readonly #amount = byId("withdraw-amount", HTMLInputElement);
  readonly #go = byId("withdraw-go", HTMLButtonElement);
  #busy = false;
  #sure: number | null = null; // the amount that the player has to confirm
  #message: Message | null = null;
  /** a request without a clear answer: sent again with the same key, it is the same withdrawal */
  #open: { amount: number; key: string; before: ReadonlySet<string> | null } | null = null;

  /** done is called after each answer, to load the lists again. */
  constructor(parts: Parts, done: () => void) {
    this.#parts = parts;
    this.#done = done;
    this.#form.addEventListener("submit", (e) => {
      e.preventDefault();
      this.#ask();
    });
    this.#amount.addEventListener("input", () => {
      this.#sure = null;
      this.#say(null);
    });
    byId("withdraw-yes").addEventListener("click", () => void this.#send());
    byId("withdraw-no").addEventListener("click", () => {
      this.#sure = null;
      this.render();
      this.#amount.focus();
    });
    byId("withdraw-all").addEventListener("click", () => this.#all());
  }

  render(): void {
    const { i18n, wallet } = this.#parts;
    this.#found();
    this.#overtaken();
    this.#form.hidden = !wallet.balance && !this.#message && !this.#open;
    this.#go.setAttribute("aria-disabled", String(this.#busy));
    write(this.#go, this.#busy ? this.#t("withdraw_busy") : i18n.t("withdraw"));
    byId("withdraw-sure").hidden = this.#sure === null;
    this.#go.hidden = this.#sure !== null;
    write(byId("withdraw-where"), this.#sure === null ? "" : this.#where(this.#sure));
    const m = this.#message;
    const el = byId("withdraw-message");
    write(el, m ? this.#t(m.key, m.values) : "");
    el.classList.toggle("good", m?.good ?? false);
    this.#amount.setAttribute("aria-invalid", String(m !== null && !m.good));
  }

  // found drops the open request if its answer was lost but the list has the withdrawal. The same amount is then
  // another withdrawal.
  #found(): void {
    const open = this.#open;
    if (this.#busy || !open?.before) return; // null: the earlier list is unknown, so nothing can be recognized as new
    const { before } = open;
    const found = this.#parts.wallet.withdrawals().find((w) => w.amount === open.amount && !before.has(w.withdrawal));
    if (!found) return;
    this.#open = null;
    this.#message = { key: "withdraw_sent", values: { amount: yuan(open.amount) }, good: true, withdrawal: found.withdrawal };
  }

  // overtaken removes the message if the list has a newer state of its withdrawal.
  #overtaken(): void {
    const id = this.#message?.withdrawal;
    const w = this.#parts.wallet.withdrawals().find((one) => one.withdrawal === id);
    if (w && w.state !== "pending") this.#message = null;
  }

  #all(): void {
    const { wallet } = this.#parts;
    if (wallet.balance === null) return;
    this.#amount.value = yuan(wallet.balance).replaceAll(",", "");
    this.#say(null);
    this.#amount.focus();
  }

  // ask names the destination of the money, and waits for a second press. A repeated request was confirmed before.
  #ask(): void {
    if (this.#busy) return; // a double click
    if (!this.#amount.value && this.#message?.good) return; // keeps the message of the last success
    const amount = minor(this.#amount.value);
    const wrong = this.#check(amount);
    if (wrong || amount === null) {
      this.#say(wrong ?? { key: "w_err_amount" });
      this.#amount.focus();
      return;
    }
    if (this.#open?.amount === amount) return void this.#send();
    this.#sure = amount;
    this.#say(null);
    byId("withdraw-where").focus();
  }

  #where(minor: number): string {
    const amount = yuan(minor);
    const { name, provider } = this.#parts.wallet.payout ?? {};
    if (name) return this.#t("withdraw_sure_name", { amount, name });
    return this.#t(provider === "wallet" || provider === "http" ? `withdraw_sure_${provider}` : "withdraw_sure", { amount });
  }

  async #send(): Promise<void> {
    if (this.#busy) return; // a double click
    const amount = this.#sure ?? this.#open?.amount ?? null;
    if (amount === null) return;
    this.#sure = null;
    const { session, wallet } = this.#parts;
    if (this.#open?.amount !== amount) {
      this.#open = { amount, key: newKey(), before: wallet.listed ? new Set(wallet.withdrawals().map((w) => w.withdrawal)) : null };
    }
    const { key } = this.#open;
    this.#busy = true;
    this.#say(null);
    this.#go.focus({ preventScroll: true }); // the question is gone, and the focus was on its answer
    try {
      const token = await session.token();
      const w = await request<Withdrawn>("/me/withdrawals", {
        method: "POST", token, key, body: { amount }, signal: within(PATIENCE),
      });
      this.#open = null;
      this.#amount.value = "";
      wallet.withdrawal(w, w.balance);
      this.#say({ key: "withdraw_sent", values: { amount: yuan(amount) }, good: true, withdrawal: w.withdrawal });
    } catch (fault) {
      const m = messageOf(fault);
      if (m.key !== "w_err_again" && m.key !== "w_err_busy") this.#open = null; // refused: no withdrawal has this key
      this.#say(m);
    } finally {
      this.#busy = false;
      this.render();
    }
    this.#done();
  }

  #check(amount: number | null): Message | null {
    const { balance } = this.#parts.wallet;
    if (amount === null) return { key: "w_err_amount" };
    if (amount === 0) return { key: "w_err_zero" };
    // The open request may have reduced the balance already, so the server checks that amount.
    if (balance !== null && amount > balance && this.#open?.amount !== amount) return { key: "w_err_over", values: { amount: yuan(balance) } };
    return null;
  }

  #say(m: Message | null): void {
    this.#message = m;
    this.render();
    if (m?.good) this.#parts.announce(this.#t(m.key, m.values));
  }

  #t(key: Key, values?: Values): string {
    return new I18n(withdrawing, this.#parts.i18n.lang).t(key, values);
  }
}

/** texts of refused withdrawals, by the code of the answer */
const LIMITS: Record<string, Key> = {
  withdrawal_too_small: "w_err_small", daily_limit: "w_err_day", hourly_limit: "w_err_hour", guests_cannot_withdraw: "w_err_guest",
  no_payee: "w_err_payee",
};

/** messageOf returns the player's text for a refused or lost request. */
export function messageOf(fault: unknown): Message {
  if (!(fault instanceof ApiError)) return { key: "w_err_again" };
  if (fault.code === "insufficient_funds") return { key: "w_err_funds" };
  const limit = LIMITS[fault.code];
  if (limit) return { key: limit };
  if (fault.status === 401 || fault.status === 403) return { key: "w_err_signin" };
  if (fault.code === "idempotency_in_progress") return { key: "w_err_again" }; // the first request is still running: keep the key
  if (fault.status === 429) return { key: "w_err_busy" };
  if (fault.status === 0 || fault.status === 408 || fault.status >= 500) return { key: "w_err_again" };
  return { key: "w_err_other", values: { detail: fault.fields[0]?.message ?? fault.message } };
}
