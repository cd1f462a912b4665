import { money, when } from "../format.ts";
import { serverNow } from "../servertime.ts";
import type { CampaignBody } from "./draft.ts";
import { t } from "./words.ts";

/** Summary says in a few sentences which money goes where, before it does. balance is the sponsor's, in minor units, where it is known. */
export function Summary({ body, balance }: { body: CampaignBody | null; balance: number | null }) {
  if (!body) return <p class="soft">{t("summaryEmpty")}</p>;
  const { sponsor, budget } = body;
  return (
    <>
      <p><strong>{t("summaryMoney", { sponsor, budget: money(budget), packets: body.packets })}</strong></p>
      {balance !== null && balance >= budget && <p>{t("summaryAfter", { sponsor, before: money(balance), after: money(balance - budget) })}</p>}
      {balance !== null && balance < budget && <p class="fault">{t("missing", { missing: money(budget - balance) })}</p>}
      <p>{t("summaryRules", { sponsor, wins: body.wins_per_user, at: when(serverNow() + body.expires_in_ms) })}</p>
    </>
  );
}
