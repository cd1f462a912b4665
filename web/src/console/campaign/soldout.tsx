import { api, seg } from "../api.ts";
import { moment } from "../format.ts";
import { useInterval, useLoad } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { phaseAt } from "../rains/phase.ts";
import { serverNow, toLocal } from "../servertime.ts";
import { campaign as strings } from "../strings/campaign.ts";
import type { Campaign, History, Stats } from "../../shared/schemas.ts";
import { State } from "../ui/index.ts";

const t = texts(strings);

const BEFORE = 5_000; // ms before a rain: a second with stock has to come first
const AFTER = 10_000; // ms
const EVERY = 5_000; // ms between two looks at the history of a rain that goes on

/** isSoldOut reports whether an open campaign has no packet left. */
export function isSoldOut(c: Pick<Campaign, "state">, s: Partial<Stats> | undefined): boolean {
  return (c.state === "ready" || c.state === "raining") && s?.stock === 0;
}

interface Props {
  campaign: Campaign;
  stats: Partial<Stats> | undefined;
}

/** CampaignState is the badge of a campaign's state. Sold out is one. */
export function CampaignState({ campaign, stats }: Props) {
  return <State of={isSoldOut(campaign, stats) ? "sold_out" : campaign.state} />;
}

/** SoldOutSince is the time at which the last packet was won, if the server still has the figures of that rain. */
export function SoldOutSince({ campaign, stats }: Props) {
  return isSoldOut(campaign, stats) ? <Since campaign={campaign} /> : null;
}

function Since({ campaign: c }: { campaign: Campaign }) {
  const rain = c.rains.findLast((r) => r.starts_at <= serverNow());
  const path = rain && `/campaigns/${seg(c.id)}/history?from=${rain.starts_at - BEFORE}&to=${rain.ends_at + AFTER}&points=2000`;
  const load = useLoad(async (signal) => path && (soldOutAt(await api<History>(path, { signal })) ?? null), [path]);
  const falls = rain && phaseAt(rain, c, serverNow()) === "falling";
  useInterval(() => load.loading || load.reload(), falls && !load.data ? EVERY : 0);
  if (!load.data) return null;
  return <span class="soft num">{t("since", { at: moment(toLocal(load.data)) })}</span>;
}

/** soldOutAt is the end of the first second without stock, if one with stock came before it. */
export function soldOutAt(h: Pick<History, "t" | "span_ms" | "stock">): number | undefined {
  const i = h.stock.indexOf(0);
  return i > 0 ? (h.t[i] ?? 0) + (h.span_ms[i] ?? 0) : undefined;
}
