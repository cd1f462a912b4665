// Money in, and campaigns out of it.

import { newKey } from "../shared/api.ts";
import { yuan } from "../shared/money.ts";
import { toast } from "./dom.js";
import { dialog } from "./form.js";
import { api } from "./store.js";

export async function deposit(sponsor = "") {
  const done = await dialog({
    title: "Deposit for a sponsor",
    note: "The reference names the payment: the same reference counts once.",
    yes: "Deposit",
    fields: [
      { name: "sponsor", label: "Sponsor", kind: "text", value: sponsor, required: true },
      { name: "amount", label: "Amount, ¥", kind: "money", required: true },
      { name: "reference", label: "Reference", kind: "text", value: `console-${newKey().slice(0, 12)}`, wide: true, required: true },
    ],
    send: ({ sponsor: id, ...body }) => api(`/sponsors/${encodeURIComponent(id)}/deposits`, { method: "POST", body }),
  });
  if (done) toast(`${done.sponsor} now has ¥${yuan(done.balance)}.`);
}

// create asks for a campaign and answers with it, or null.
export function create() {
  return dialog({
    title: "New campaign",
    note: "The budget moves from the sponsor to the campaign's escrow, and every packet is stocked before the answer comes.",
    yes: "Fund and create",
    fields: [
      { name: "name", label: "Name", kind: "text", wide: true, required: true },
      { name: "sponsor", label: "Sponsor", kind: "text", required: true },
      { name: "budget", label: "Budget, ¥", kind: "money", required: true },
      { name: "packets", label: "Packets", kind: "count", required: true },
      { name: "split", label: "Split", kind: "text", options: ["double_mean", "low_variance", "gaussian", "even", "list"], value: "double_mean" },
      { name: "min", label: "Least per packet, ¥", kind: "money", value: "0.01" },
      { name: "max", label: "Most per packet, ¥", kind: "money", hint: "none" },
      { name: "wins_per_user", label: "Wins per player", kind: "count", value: "1" },
      { name: "taps_per_user", label: "Taps per player", kind: "count", value: "0", hint: "0: no limit" },
      { name: "shards", label: "Shards", kind: "count", value: "1" },
      { name: "expires_in_ms", label: "Expires in, s", kind: "seconds", value: "86400" },
      { name: "amounts", label: "Amounts, ¥ (split list only)", kind: "amounts", wide: true },
    ],
    send: (body, key) => api("/campaigns", { method: "POST", body, key }),
  });
}

// startRain asks for a rain of a campaign and answers with it, or null.
export function startRain(campaign) {
  return dialog({
    title: `Rain on “${campaign.name}”`,
    yes: "Start",
    fields: [
      { name: "starts_in_ms", label: "Starts in, s", kind: "seconds", value: "3" },
      { name: "duration_ms", label: "Lasts, s", kind: "seconds", value: "10" },
      { name: "drops_per_second", label: "Packets per second on a screen", kind: "count", value: "8" },
      { name: "fall_ms", label: "Each falls for, s", kind: "seconds", value: "4" },
      { name: "decoy_percent", label: "Decoys, %", kind: "count", value: "0" },
      { name: "pacing", label: "Pacing", kind: "text", options: ["none", "even"], value: "none" },
    ],
    send: (body, key) => api(`/campaigns/${campaign.id}/rains`, { method: "POST", body, key }),
  });
}
