import "./books.css";

import { money } from "../format.ts";
import type { Campaign, Reconciliation } from "../../shared/schemas.ts";
import { api, seg } from "../api.ts";
import { useCheck } from "./check.ts";
import { Controls, Outcome } from "./controls.tsx";
import { Equation, Findings } from "./equation.tsx";
import { t } from "./words.ts";

/** CampaignBooks is where every cent of one campaign is. It is checked when it is opened. */
export function CampaignBooks({ campaign }: { campaign: Campaign }) {
  const check = useCheck((signal) => api<Reconciliation>(`/campaigns/${seg(campaign.id)}/reconciliation`, { signal }), true);
  const r = check.result;
  return (
    <section class="panel books">
      <header>
        <div><h2>{t("title")}</h2><p class="soft">{t("lead")}</p></div>
        <Controls check={check} when={check.at} />
      </header>
      <Outcome check={check} good={r?.balanced ?? false}>{r ? verdict(r) : ""}</Outcome>
      {r && <div class={check.since === null ? "" : "pale"}><Equation of={r} /><Findings title={t("findings")} list={r.findings} /><Findings title={t("letters")} list={r.letters} /></div>}
    </section>
  );
}

/** verdict is what a check of a campaign has found, in words. */
export function verdict(r: Reconciliation): string {
  if (r.balanced) return t("balanced");
  return r.difference === 0 ? t("wrong") : t("notBalanced", { difference: money(Math.abs(r.difference)) });
}
