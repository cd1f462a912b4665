import { useState } from "preact/hooks";
import { useSettled } from "../create/settled.ts";
import { money } from "../format.ts";
import { texts } from "../i18n.ts";
import type { Route } from "../route.ts";
import { risk } from "../strings/risk.ts";
import { SelectField, TextField } from "../ui/index.ts";
import { useHeld } from "./count.ts";
import { HeldList, type HeldState } from "./list.tsx";

const t = texts(risk);
const STATES: readonly HeldState[] = ["held", "released", "confirmed"];
const PAUSE = 350; // ms that a person has to pause before the server is asked

/** RiskPage is the wins that are kept apart: #/risk, #/risk?user=ID, #/risk?campaign=ID. */
export function RiskPage({ route: { query } }: { route: Route }) {
  const [state, setState] = useState<HeldState>("held");
  const [user, setUser] = useState(query.get("user") ?? "");
  const [campaign, setCampaign] = useState(query.get("campaign") ?? "");
  const held = useHeld();
  return (
    <section class="panel">
      <header>
        <div><h1>{t("title")}</h1><p class="soft">{t("lead")}</p></div>
        <p class="total" role="status">{held && held.wins > 0 && t("waiting", { n: held.wins, amount: money(held.amount) })}</p>
      </header>
      <search>
        <form class="fields" noValidate onSubmit={(e) => e.preventDefault()}>
          <TextField name="user" kind="search" label={t("player")} placeholder={t("exact")} value={user} onInput={(v) => (setUser(v), setCampaign(""))} />
          <TextField name="campaign" kind="search" label={t("campaign")} placeholder={t("exact")} value={campaign} onInput={(v) => (setCampaign(v), setUser(""))} />
          <SelectField name="state" label={t("state")} value={state} onChange={setState} options={STATES.map((value) => ({ value, label: t(`state_${value}`) }))} />
        </form>
      </search>
      <HeldList state={state} user={useSettled(user.trim(), PAUSE)} campaign={useSettled(campaign.trim(), PAUSE)} />
    </section>
  );
}
