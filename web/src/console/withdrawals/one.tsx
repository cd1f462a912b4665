import "../claims/claims.css";
import "./withdrawals.css";

import { useState } from "preact/hooks";
import { DecideDialog, type Decision } from "../approvals/decide.tsx";
import { samePerson } from "../approvals/said.ts";
import { api, seg } from "../api.ts";
import { money, when } from "../format.ts";
import { useInterval, useLoad } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { to } from "../route.ts";
import { useStanding } from "../session.ts";
import { withdrawals } from "../strings/withdrawals.ts";
import type { Approval, PendingOrder, WithdrawalEvent, WithdrawalRecord } from "../../shared/schemas.ts";
import { Act, Copy, FaultBox, Loading, Money, State, Table, Time, said, type Column } from "../ui/index.ts";
import { actorName, acts, final, type Act as ActName } from "./acts.ts";
import { StateOf } from "./list.tsx";
import { OrderDialog } from "./order.tsx";

const t = texts(withdrawals);
const EVERY = 5_000; // ms, while something may still happen

/** WithdrawalPage is one withdrawal: what it is, what can be done with it, and all that has happened to it. */
export function WithdrawalPage({ id }: { id: string }) {
  const load = useLoad((signal) => api<WithdrawalRecord>(`/withdrawals/${seg(id)}`, { signal }), [id]);
  const [act, setAct] = useState<ActName | null>(null);
  const [decision, decide] = useState<Decision | null>(null);
  const w = load.data;
  useInterval(() => load.loading || load.reload(), w?.state === "pending" ? EVERY : 0);
  if (!w) return <section class="panel">{load.fault ? <FaultBox fault={load.fault} retry={load.reload} /> : <Loading />}</section>;
  return (
    <div class="stack">
      <section class="panel">
        <p><a href={to("withdrawals")}>← {t("toList")}</a></p>
        <header>
          <h1 class="row">{t("oneTitle", { amount: money(w.amount), user: w.user })} <StateOf of={w} /></h1>
          <div class="row">
            {acts(w).filter((one) => one !== w.order?.what).map((one) => (
              <Act key={one} needs="withdrawals" kind={final(one) ? "danger" : "main"} onClick={() => setAct(one)}>{t(`open_${one}`)}</Act>
            ))}
          </div>
        </header>
        {w.order && <Waits order={w.order} onDecide={decide} />}
        {w.dead && !w.order && <p class="quote">{t("deadText")} <a href={to("payouts")}>{t("toLetters")}</a></p>}
        <Facts of={w} />
      </section>
      <section class="panel">
        <header><h2>{t("history")}</h2></header>
        <Table cards label={t("history")} columns={lines()} rows={w.history ?? []} rowKey={(e) => `${e.at} ${e.stage} ${e.actor} ${e.reason ?? ""}`} />
      </section>
      {act && <OrderDialog act={act} withdrawal={w} onClose={() => setAct(null)} onDone={load.set} />}
      {decision && w.order && <DecideDialog approval={approvalOf(w, w.order)} decision={decision} onClose={() => decide(null)} onDone={load.reload} />}
    </div>
  );
}

/** Waits is an order that waits for a second person. */
function Waits({ order, onDecide }: { order: PendingOrder; onDecide: (decision: Decision) => void }) {
  const standing = useStanding();
  const mine = standing.is === "in" && samePerson(order.by, standing.who.name);
  return (
    <div class="waits" role="status">
      <div>
        <p><strong>{t(`pending_${order.what}`)}</strong></p>
        <p>{t("askedBy", { by: order.by, at: when(order.asked_at) })} <q>{order.reason}</q></p>
        <p class="soft">{t(mine ? "waitsForAnother" : "until", { at: when(order.until) })}</p>
      </div>
      <div class="row">
        {!mine && <Act needs="withdrawals" kind="main" onClick={() => onDecide("confirm")}>{t("confirm")}</Act>}
        <Act needs="withdrawals" onClick={() => onDecide("reject")}>{t("reject")}</Act>
      </div>
    </div>
  );
}

/** approvalOf is an order of a withdrawal as the list of orders has it. */
function approvalOf(w: WithdrawalRecord, o: PendingOrder): Approval {
  return {
    approval: o.approval, action: `withdrawal.${o.what}`, target: w.withdrawal, amount: w.amount, reason: o.reason, asked_by: o.by,
    asked_at: o.asked_at, expires_at: o.until, state: "pending",
  };
}

function Facts({ of: w }: { of: WithdrawalRecord }) {
  const facts: [string, preact.ComponentChildren][] = [
    [t("withdrawal"), <><span class="mono">{w.withdrawal}</span><Copy text={w.withdrawal} label={t("copyId")} /></>],
    [t("user"), <a href={to("users", w.user)}>{w.user}</a>],
    [t("amount"), <Money minor={w.amount} />],
    [t("receiver"), w.receiver ? <span class="mono">{w.receiver}</span> : <span class="soft">{t("nobodyYet")}</span>],
    [t("created"), <Time ms={w.created_at} />],
  ];
  if (w.sent_at) facts.push([t("sent"), <Time ms={w.sent_at} />]);
  if (w.finished_at) facts.push([t("finished"), <Time ms={w.finished_at} />]);
  if (w.attempts > 0) facts.push([t("tries"), w.attempts]);
  if (w.next_at && w.attempts > 0) facts.push([t("nextTry"), <Time ms={w.next_at} />]);
  if (w.reference) facts.push([t("reference"), <span class="mono">{w.reference}</span>]);
  const why = w.reason ?? w.last_error;
  if (why) facts.push([t("why"), said(why)]);
  return <dl class="details">{facts.map(([label, value]) => <div key={label}><dt>{label}</dt><dd>{value}</dd></div>)}</dl>;
}

function lines(): Column<WithdrawalEvent>[] {
  return [
    { key: "at", head: t("at"), cell: (e) => <Time ms={e.at} /> },
    { key: "stage", head: t("state"), cell: (e) => <State of={e.stage} /> },
    { key: "actor", head: t("who"), cell: (e) => actorName(e.actor) },
    { key: "reason", head: t("why"), cell: (e) => <span class="why">{said(e.reason ?? "")}</span> },
  ];
}
