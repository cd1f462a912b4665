import "../claims/claims.css";

import { useState } from "preact/hooks";
import { api, type Page } from "../api.ts";
import { usePages } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { to } from "../route.ts";
import { mayAct, useStanding } from "../session.ts";
import { approvals } from "../strings/approvals.ts";
import type { Approval } from "../../shared/schemas.ts";
import { Act, Badge, Button, Money, PagedTable, SelectField, Time, type Column, type Tone } from "../ui/index.ts";
import { actionWords, DecideDialog, type Decision } from "./decide.tsx";
import { countAgain } from "./pending.ts";
import { samePerson } from "./said.ts";

const t = texts(approvals);

const STATES = ["pending", "confirmed", "rejected", "expired"] as const;
type State = (typeof STATES)[number];
const TONES: Record<State, Tone> = { pending: "warn", confirmed: "good", rejected: "none", expired: "none" };

/** ApprovalsPage is what one person has asked for, and another one confirms or rejects. */
export function ApprovalsPage() {
  const [state, setState] = useState<State | "">("pending");
  const [asks, ask] = useState<{ of: Approval; decision: Decision } | null>(null);
  const standing = useStanding();
  const me = standing.is === "in" ? standing.who.name : undefined;
  const list = usePages<Approval>((cursor, signal) => {
    const query = new URLSearchParams({ limit: "50", ...(state && { state }), ...(cursor && { cursor }) });
    return api<Page<Approval>>(`/approvals?${query}`, { signal });
  }, [state]);
  const reload = () => (list.reload(), countAgain());
  return (
    <section class="panel">
      <header>
        <div><h1>{t("title")}</h1><p class="soft">{t("lead")}</p></div>
        <div class="row bottom">
          <SelectField name="state" label={t("state")} value={state} onChange={setState}
            options={[{ value: "", label: t("all") }, ...STATES.map((value) => ({ value, label: t(`state_${value}`) }))]} />
          <Button onClick={reload} busy={list.loading}>{t("reload")}</Button>
        </div>
      </header>
      <PagedTable cards label={t("title")} columns={columns(me, (of, decision) => ask({ of, decision }))} pages={list} rowKey={(a) => a.approval}
        empty={<h2>{t(state === "pending" ? "nonePending" : "none")}</h2>} />
      {asks && <DecideDialog approval={asks.of} decision={asks.decision} onClose={() => ask(null)} onDone={reload} />}
    </section>
  );
}

function columns(me: string | undefined, ask: (a: Approval, decision: Decision) => void): Column<Approval>[] {
  const list: Column<Approval>[] = [
    { key: "action", head: t("action"), cell: (a) => actionWords(a) },
    { key: "amount", head: t("amount"), num: true, cell: (a) => (a.action === "provider" ? "–" : <Money minor={a.amount} />) },
    { key: "target", head: t("target"), cell: (a) => <a class="mono" href={placeOf(a)}>{a.target}</a> },
    { key: "by", head: t("by"), cell: (a) => a.asked_by },
    { key: "reason", head: t("reason"), cell: (a) => <span class="why">{a.reason || a.reference}</span> },
    { key: "asked", head: t("asked"), hide: true, cell: (a) => <Time ms={a.asked_at} /> },
    { key: "until", head: t("until"), cell: (a) => <Time ms={a.expires_at} /> },
    { key: "state", head: t("state"), cell: (a) => <Ended of={a} /> },
  ];
  if (mayAct()) {
    list.push({
      key: "actions", head: <span class="unseen">{t("actions")}</span>,
      cell: (a) => a.state === "pending" && (
        <div class="row">
          {samePerson(a.asked_by, me) ? <span class="soft">{t("yours")}</span>
            : <Act needs="approvals" kind="main" small label={`${t("confirm")}: ${a.target}`} onClick={() => ask(a, "confirm")}>{t("confirm")}</Act>}
          <Act needs="approvals" small label={`${t("reject")}: ${a.target}`} onClick={() => ask(a, "reject")}>{t("reject")}</Act>
        </div>
      ),
    });
  }
  return list;
}

/** Ended is what has become of an order, and by whom. */
function Ended({ of: a }: { of: Approval }) {
  const key = `state_${a.state}`;
  return (
    <span>
      <Badge tone={TONES[a.state]}>{t.has(key) ? t(key) : a.state}</Badge>
      {a.decided_by && <small class="soft"> {a.decided_by}{a.decision && `: ${a.decision}`}</small>}
    </span>
  );
}

/** placeOf is the page that shows what an order is about. */
function placeOf(a: Approval): string {
  if (a.action === "deposit") return to("sponsors");
  return a.action.startsWith("withdrawal.") ? to("withdrawals", a.target) : to("payouts");
}
