import "./create.css";

import { api, seg } from "../api.ts";
import { useLoad } from "../hooks.ts";
import type { Route } from "../route.ts";
import { may } from "../session.ts";
import type { Campaign } from "../../shared/schemas.ts";
import { Empty, FaultBox, Loading } from "../ui/index.ts";
import { draftOf, emptyDraft, type Draft } from "./draft.ts";
import { CampaignForm } from "./form.tsx";
import { t } from "./words.ts";

/** NewCampaignPage is the form for a campaign: #/new, #/new?sponsor=ID, or #/new?from=ID for one like another, with other limits if they are given. */
export function NewCampaignPage({ route }: { route: Route }) {
  const from = route.query.get("from");
  if (!may("campaigns")) return <section class="panel"><Empty><h1>{t("title")}</h1><p>{t("viewer")}</p></Empty></section>;
  if (from) return <Clone key={from} of={from} limits={limitsOf(route.query)} />;
  return <CampaignForm title={t("title")} draft={{ ...emptyDraft(), sponsor: route.query.get("sponsor") ?? "" }} />;
}

/** limitsOf are the limits of a player in an address. */
function limitsOf(query: URLSearchParams): Partial<Draft> {
  return Object.fromEntries((["wins_per_user", "taps_per_user"] as const).flatMap((field) => (query.has(field) ? [[field, query.get(field)]] : [])));
}

function Clone({ of, limits }: { of: string; limits: Partial<Draft> }) {
  const original = useLoad((signal) => api<Campaign>(`/campaigns/${seg(of)}`, { signal }), [of]);
  if (original.data) return <CampaignForm title={t("titleClone")} draft={{ ...draftOf(original.data), ...limits }} filled />;
  if (!original.fault) return <section class="panel"><Loading /></section>;
  return <section class="panel"><FaultBox fault={original.fault} retry={original.reload} /></section>;
}
