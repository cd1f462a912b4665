import "../claims/claims.css";

import { useState } from "preact/hooks";
import { texts } from "../i18n.ts";
import type { Route } from "../route.ts";
import { withdrawals } from "../strings/withdrawals.ts";
import { ui } from "../strings/ui.ts";
import { Button, SelectField } from "../ui/index.ts";
import { WithdrawalList } from "./list.tsx";
import { WithdrawalPage } from "./one.tsx";

const t = texts(withdrawals);
const states = texts(ui);
const STATES = ["pending", "paid", "failed", "held", "sent", "action_required", "dead"] as const;

/** WithdrawalsPage is the money on its way out, of all players: #/withdrawals, or #/withdrawals/ID for one of them. */
export function WithdrawalsPage({ route }: { route: Route }) {
  const id = route.parts[1];
  return id ? <WithdrawalPage key={id} id={id} /> : <AllWithdrawals />;
}

function AllWithdrawals() {
  const [state, setState] = useState<(typeof STATES)[number] | "">("");
  const [turn, setTurn] = useState(0);
  return (
    <section class="panel">
      <header>
        <div><h1>{t("title")}</h1><p class="soft">{t("lead")}</p></div>
        <div class="row bottom">
          <SelectField name="state" label={t("state")} value={state} onChange={setState}
            options={[{ value: "", label: t("all") }, ...STATES.map((value) => ({ value, label: states(`state_${value}`) }))]} />
          <Button onClick={() => setTurn(turn + 1)}>{t("reload")}</Button>
        </div>
      </header>
      <WithdrawalList path="/withdrawals" player state={state} turn={turn} />
    </section>
  );
}
