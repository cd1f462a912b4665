// The calls of an operator's script for one campaign.

import { draftOf } from "../create/draft.ts";
import type { apipage } from "../strings/apipage.ts";
import type { Campaign, Rain } from "../../shared/schemas.ts";
import type { Call } from "./curl.ts";

/** A Task is a call and the key of its description. */
export interface Task {
  key: keyof typeof apipage;
  call: Call;
}

export interface Group {
  key: "before" | "live" | "after";
  tasks: Task[];
}

/** The commands hold the first amounts of a longer list: a shell does not accept a command of any length. */
const MAX_LISTED = 5;

/** groups are the tasks around a campaign. Without a campaign the commands contain CAMPAIGN. */
export function groups(c: Campaign | null): Group[] {
  const id = encodeURIComponent(c?.id ?? "CAMPAIGN");
  const at = `/campaigns/${id}`;
  const rain: Rain | undefined = c?.rains.findLast((r) => r.phase !== "ended") ?? c?.rains.at(-1);
  const sponsor = c?.sponsor ?? "acme";
  const split = splitOf(c);
  return [
    {
      key: "before", tasks: [
        { key: "deposit", call: { method: "POST", path: `/sponsors/${encodeURIComponent(sponsor)}/deposits`, body: { amount: split.budget, reference: "invoice-17" } } },
        { key: "balance", call: { method: "GET", path: `/sponsors/${encodeURIComponent(sponsor)}` } },
        { key: "preview", call: { method: "POST", path: "/splits/preview", body: split } },
        { key: "create", call: { method: "POST", path: "/campaigns", once: true, body: { name: c ? draftOf(c).name : "Gala", sponsor, ...split, wins_per_user: c?.wins_per_user ?? 1 } } },
      ],
    },
    {
      key: "live", tasks: [
        { key: "start", call: { method: "POST", path: `${at}/rains`, once: true, body: { starts_in_ms: 3_000, duration_ms: 10_000, drops_per_second: 8 } } },
        { key: "events", call: { method: "GET", path: `/events?campaign=${id}`, accept: "text/event-stream", stream: true } },
        { key: "stats", call: { method: "GET", path: `${at}/stats` } },
        { key: "pause", call: { method: "POST", path: `${at}/pause` } },
        { key: "resume", call: { method: "POST", path: `${at}/resume` } },
        { key: "stop", call: { method: "POST", path: `${at}/rains/${encodeURIComponent(rain?.id ?? "RAIN")}/stop` } },
      ],
    },
    {
      key: "after", tasks: [
        { key: "csv", call: { method: "GET", path: `${at}/claims`, accept: "text/csv", output: `claims-${c?.id ?? "CAMPAIGN"}.csv` } },
        { key: "reconcile", call: { method: "GET", path: `${at}/reconciliation` } },
        { key: "dead", call: { method: "GET", path: "/payouts?state=dead" } },
        { key: "retry", call: { method: "POST", path: "/payouts/retry" } },
        { key: "close", call: { method: "POST", path: `${at}/close` } },
      ],
    },
  ];
}

/** splitOf is the campaign's split as it is posted. Of a long list it is the beginning, which still adds up. */
function splitOf(c: Campaign | null) {
  if (!c) return { budget: 1_000_000, packets: 5_000, split: "double_mean", min: 1, max: null };
  const { budget, packets, split, min, max } = c;
  if (split !== "list") return { budget, packets, split, min, max };
  const amounts = (c.amounts ?? []).slice(0, MAX_LISTED);
  return { budget: amounts.reduce((n, a) => n + a, 0), packets: amounts.length, split, min, max, amounts };
}
