// The sheet "my packets": what was won, and how far each is on its way to the balance.

import { request } from "../shared/api.ts";
import { yuan } from "../shared/money.ts";

const SHOWN = 100;
const $ = (id) => document.getElementById(id);

export class Sheet {
  #i18n;
  #wallet;
  #session;
  #dialog = $("sheet");

  constructor({ i18n, wallet, session }) {
    this.#i18n = i18n;
    this.#wallet = wallet;
    this.#session = session;
    wallet.addEventListener("change", () => this.render());
    i18n.onChange(() => this.render());
    $("sheet-close").addEventListener("click", () => this.#dialog.close());
    this.#dialog.addEventListener("click", (e) => e.target === this.#dialog && this.#dialog.close());
  }

  open() {
    this.#dialog.showModal();
    this.render();
    this.refresh();
  }

  // refresh asks the ledger: what the socket has told may be all, or a part when the player was away.
  async refresh() {
    try {
      const token = await this.#session.token();
      const [me, claims] = await Promise.all([
        request("/me", { token }),
        request(`/me/claims?limit=${SHOWN}`, { token }),
      ]);
      this.#wallet.page(claims.items);
      this.#wallet.me(me.balance);
    } catch {
      // What is known is shown; the next opening asks again.
    }
  }

  render() {
    if (!this.#dialog.open) return;
    const t = (k, v) => this.#i18n.t(k, v);
    const [list, total] = [this.#wallet.list().slice(0, SHOWN), this.#wallet.count];
    $("sheet-balance").textContent = this.#wallet.balance == null ? "–" : yuan(this.#wallet.balance);
    $("sheet-coming").textContent = this.#wallet.coming ? t("coming", { amount: yuan(this.#wallet.coming) }) : "";
    $("sheet-more").textContent = total > list.length ? t("more", { n: list.length, total }) : "";
    $("sheet-empty").hidden = list.length > 0;
    $("sheet-list").replaceChildren(...list.map((c) => row(t, c)));
  }
}

function row(t, c) {
  const li = document.createElement("li");
  li.append(
    span("what", t("packet", { packet: c.packet ?? "" })),
    span(`state ${c.state}`, t(c.state)),
    span("amount", `+${yuan(c.amount)}`),
  );
  return li;
}

function span(className, text) {
  const el = document.createElement("span");
  el.className = className;
  el.textContent = text;
  return el;
}
