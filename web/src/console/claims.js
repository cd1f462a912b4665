// Who won what, page by page.

import { yuan } from "../shared/money.ts";
import { badge, button, h, once, when } from "./dom.js";
import { api, attempt } from "./store.js";

// claims is a panel for a campaign's claims.
export function claims(campaign) {
  const rows = h("tbody");
  const more = button("More", () => once(more, load));
  const csv = button("CSV", () => once(csv, () => attempt(() => download(campaign))));
  let cursor = "";

  async function load() {
    const page = await attempt(() => api(`/campaigns/${campaign.id}/claims?limit=50${cursor && `&cursor=${encodeURIComponent(cursor)}`}`));
    if (!page) return;
    rows.append(...page.items.map(row));
    cursor = page.next_cursor ?? "";
    more.hidden = !cursor;
  }

  function reload() {
    rows.replaceChildren();
    cursor = "";
    return load();
  }

  load();
  return h("section", { className: "panel" },
    h("header", {}, h("h2", {}, "Claims"), h("div", { className: "row" }, button("Reload", reload), csv)),
    h("div", { className: "scroll" }, h("table", {},
      h("thead", {}, h("tr", {}, ["Packet", "Player", "Won at", "State"].map((t) => h("th", {}, t)), h("th", { className: "num" }, "Amount, ¥"))),
      rows)), more);
}

function row(c) {
  return h("tr", {}, h("td", {}, c.packet), h("td", {}, c.user), h("td", {}, when(c.at)), h("td", {}, badge(c.state)),
    h("td", { className: "num" }, yuan(c.amount)));
}

async function download(campaign) {
  const response = await api(`/campaigns/${campaign.id}/claims`, { accept: "text/csv", raw: true });
  const url = URL.createObjectURL(await response.blob());
  h("a", { href: url, download: `claims-${campaign.id}.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
