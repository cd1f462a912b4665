import "./books.css";

import { count, money } from "../format.ts";
import { to } from "../route.ts";
import type { Books } from "../../shared/schemas.ts";
import { Empty } from "../ui/index.ts";
import { verdict } from "./campaign.tsx";
import { useCheck } from "./check.ts";
import { Controls, Outcome } from "./controls.tsx";
import { Equation, Findings } from "./equation.tsx";
import { proveAll } from "./full.ts";
import { ProvedLast } from "./proved.tsx";
import { t } from "./words.ts";

/** ReconciliationPage proves all books at once: the whole ledger, and every campaign. It begins when it is told to, as it reads every row. */
export function ReconciliationPage() {
  const check = useCheck(proveAll, false);
  const r = check.result;
  return (
    <div class="stack">
      <section class="panel books">
        <header>
          <div><h1>{t("everything")}</h1><p class="soft">{t("lead")}</p><ProvedLast /></div>
          <Controls check={check} when={r?.checked_at ?? null} />
        </header>
        {check.since !== null && <p class="soft">{t("checkingLong")}</p>}
        <Outcome check={check} good={r?.balanced ?? false}>{r ? allVerdict(r) : ""}</Outcome>
        {!r && check.since === null && !check.fault && !check.stopped && <Empty><h2>{t("notYet")}</h2><p>{t("notYetText")}</p></Empty>}
        {r && (
          <div class={check.since === null ? "" : "pale"}>
            <dl class="totals">
              {([["checked", r.checked], ["unbalanced", r.unbalanced], ["transactions", r.transactions], ["accounts", r.accounts]] as const)
                .map(([key, n]) => <div key={key}><dt>{t(key)}</dt><dd class="num">{count(n)}</dd></div>)}
              <div><dt>{t("difference")}</dt><dd class="num">{money(r.difference)}</dd></div>
            </dl>
            <Findings title={t("ledgerFindings")} list={r.findings} level="h2" />
            <Findings title={t("letters")} list={r.letters} level="h2" />
          </div>
        )}
        <p class="soft small">{t("pickOne")}</p>
      </section>
      {r?.campaigns.map((c) => (
        <section class="panel books" key={c.campaign}>
          <header><h2><a class="mono" href={to("campaigns", c.campaign, "reconciliation")}>{c.campaign}</a></h2></header>
          <p class="verdict bad"><span aria-hidden="true">✗</span> {verdict(c)}</p>
          <Equation of={c} />
          <Findings title={t("findings")} list={c.findings} />
        </section>
      ))}
      {r && r.unchecked.length > 0 && (
        <section class="panel books">
          <header><h2>{t("unchecked")}</h2></header>
          <p class="soft">{t("uncheckedText")}</p>
          <ul class="findings" aria-label={t("unchecked")}>{r.unchecked.map((u) => <li key={u.campaign}><a class="mono" href={to("campaigns", u.campaign)}>{u.campaign}</a> {u.reason}</li>)}</ul>
        </section>
      )}
    </div>
  );
}

/** allVerdict is what a check of everything has found, in words; the worst of it. */
function allVerdict(r: Books): string {
  if (r.balanced) return t("allBalanced", { checked: r.checked, transactions: r.transactions, accounts: r.accounts });
  if (r.unbalanced > 0) return t("allWrong", { unbalanced: r.unbalanced, difference: money(r.difference) });
  if (r.findings.length > 0) return t("allLedger");
  return t("allUnproved", { count: r.unchecked.length });
}
