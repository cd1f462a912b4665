// The reconciliation, written out as the equation it is.

import { yuan } from "../shared/money.ts";
import { badge, button, h, once, when } from "./dom.js";
import { api, attempt } from "./store.js";

export function books(campaign) {
  const body = h("div", {}, h("p", { className: "soft" }, "Compares the ledger, the stock in Redis and what is on its way between them."));
  const check = button("Check", () => once(check, run));

  async function run() {
    const r = await attempt(() => api(`/campaigns/${campaign.id}/reconciliation`));
    if (!r) return;
    const term = (name, amount) => h("span", {}, h("b", {}, yuan(amount)), h("small", {}, name));
    const plus = () => h("i", {}, "+");
    body.replaceChildren(
      h("div", { className: "equation" },
        term("funded", r.funded), h("i", {}, r.balanced ? "=" : "≠"), term("paid", r.paid), plus(), term("reclaimed", r.reclaimed), plus(),
        term("stock", r.stock), plus(), term("unsettled", r.unsettled), plus(), term("dead letters", r.dead)),
      h("p", { className: "row" }, badge(r.balanced ? "good" : "bad"),
        r.balanced ? "Every cent is accounted for." : `Difference: ¥${yuan(r.difference)}`,
        h("span", { className: "soft" }, when(Date.now()))),
      ...(r.findings ?? []).map((f) => h("p", { className: "stale" }, f)));
  }

  return h("section", { className: "panel" }, h("header", {}, h("h2", {}, "Reconciliation"), check), body);
}
