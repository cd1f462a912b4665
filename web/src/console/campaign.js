// One campaign: live figures, the rain, and the switches that move money.

import { yuan } from "../shared/money.ts";
import { books } from "./books.js";
import { claims } from "./claims.js";
import { startRain } from "./create.js";
import { badge, button, confirm, count, h, once, toast, when } from "./dom.js";
import { api, attempt } from "./store.js";

const EVERY = 1_000; // ms between two questions for the figures
const STALE = 4_000; // ms after which the figures are called old

const TILES = [
  ["online", "online", count], ["grabs_per_second", "grabs / s", (n) => (n == null ? "–" : String(Math.round(n)))],
  ["taps", "taps", count], ["won", "packets won", count], ["stock", "packets left", count], ["paid", "packets paid", count],
  ["amount_won", "won, ¥", yuan], ["amount_paid", "paid, ¥", yuan], ["amount_left", "left, ¥", yuan],
];

// view shows a campaign until `signal` aborts. changed is called after each action.
export function view(campaign, { signal, changed }) {
  const tiles = Object.fromEntries(TILES.map(([key]) => [key, h("b", {}, "–")]));
  const age = h("span", { className: "soft" }, "loading…");
  const meter = h("i");
  meter.style.transform = "scaleX(0)";
  const head = h("section", { className: "panel" });
  const rains = h("tbody");
  let heard = 0;
  let polls = 0;
  let shown = ""; // what of the campaign is on the page: it is written anew only when that changes, so that no button is
  // exchanged under a finger

  // act does a POST and takes over the new state.
  const act = (path, said) => async () => {
    if (!(await attempt(() => api(`/campaigns/${campaign.id}/${path}`, { method: "POST" })))) return;
    toast(said);
    await refresh();
    changed();
  };

  async function refresh() {
    const fresh = await attempt(() => api(`/campaigns/${campaign.id}`));
    if (fresh && !signal.aborted) show((campaign = fresh));
  }

  function show(c) {
    const face = JSON.stringify([c.state, c.revision, c.rains?.map((r) => [r.id, r.phase])]);
    if (face === shown) return;
    shown = face;
    const link = (path, text) => h("a", { href: `${path}?campaign=${encodeURIComponent(c.id)}`, target: "_blank", rel: "noopener" }, text);
    const running = c.rains?.find((r) => r.phase !== "ended");
    head.replaceChildren(
      h("header", {}, h("h1", {}, c.name, " ", badge(c.state)), h("div", { className: "row" }, link("/", "player’s page"), link("/screen", "screen"))),
      h("p", { className: "soft mono" }, c.id),
      h("p", { className: "soft" }, `¥${yuan(c.budget)} of ${c.sponsor} in ${count(c.packets)} packets, ${c.split}; ${c.wins_per_user} win(s) each; expires ${when(c.expires_at)}`),
      h("div", { className: "row" }, switches(c, running)));
    rains.replaceChildren(...(c.rains ?? []).toReversed().map(rainRow));
  }

  function switches(c, running) {
    if (c.state === "closed") return [];
    const start = button("Start a rain", () => once(start, async () => {
      if (!(await startRain(c))) return;
      toast("The rain is coming.");
      await refresh();
      changed();
    }), "main");
    const stop = running && button("Stop the rain", (e) => once(e.target, act(`rains/${running.id}/stop`, "The rain has stopped.")));
    start.disabled = Boolean(running);
    const pause = c.state === "paused" ? button("Resume", (e) => once(e.target, act("resume", "Resumed.")))
      : button("Pause", (e) => once(e.target, act("pause", "Paused: taps are refused.")));
    const close = button("Close…", (e) => once(e.target, async () => {
      const left = tiles.amount_left.textContent;
      const sure = await confirm("Close the campaign?", `¥${left} that nobody has won goes back to ${c.sponsor}. This cannot be undone.`, "Close it");
      if (sure) await act("close", "Closed. What was left goes back to the sponsor.")();
    }), "danger");
    return [start, stop, pause, close];
  }

  function rainRow(r) {
    const proof = h("td", { className: "mono" });
    const fairness = button("Proof", () => once(fairness, async () => {
      const f = await attempt(() => api(`/campaigns/${campaign.id}/rains/${r.id}/fairness`));
      if (f) proof.replaceChildren(f.seed ? `seed ${f.seed}` : `committed to ${f.commitment}; the seed comes when the rain has ended`);
    }));
    proof.append(fairness);
    return h("tr", {}, h("td", {}, badge(r.phase)), h("td", {}, when(r.starts_at)), h("td", { className: "num" }, `${r.duration_ms / 1000} s`),
      h("td", { className: "num" }, r.drops_per_second), h("td", {}, r.pacing), proof);
  }

  async function poll() {
    try {
      const s = await api(`/campaigns/${campaign.id}/stats`);
      if (signal.aborted) return;
      for (const [key, , format] of TILES) tiles[key].textContent = s[key] == null ? "–" : format(s[key]);
      meter.style.transform = `scaleX(${campaign.packets ? s.won / campaign.packets : 0})`;
      heard = performance.now();
      // Phases move by themselves, and others start rains: the campaign is asked again, more often while one is due to change.
      if (campaign.rains?.some((r) => r.phase !== "ended") || ++polls % 5 === 0) await refresh();
    } catch {
      // The age tells.
    }
    const old = performance.now() - heard;
    age.textContent = heard && old < STALE ? "live" : heard ? `no answer for ${Math.round(old / 1000)} s` : "no answer yet";
    age.className = heard && old < STALE ? "soft" : "stale";
    if (!signal.aborted) setTimeout(poll, EVERY);
  }

  show(campaign);
  poll();
  return h("div", {}, head,
    h("section", { className: "panel" }, h("header", {}, h("h2", {}, "Live"), age),
      h("div", { className: "tiles" }, TILES.map(([key, label]) => h("div", { className: "tile", "data-stat": key }, tiles[key], h("small", {}, label)))),
      h("div", { className: "meter" }, meter)),
    h("section", { className: "panel" }, h("header", {}, h("h2", {}, "Rains")),
      h("div", { className: "scroll" }, h("table", {},
        h("thead", {}, h("tr", {}, h("th", {}, "Phase"), h("th", {}, "Starts"), h("th", { className: "num" }, "Lasts"), h("th", { className: "num" }, "Per second"), h("th", {}, "Pacing"), h("th", {}, "Fairness"))), rains))),
    books(campaign), claims(campaign));
}
