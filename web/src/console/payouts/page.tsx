import "../claims/claims.css";

import { useState } from "preact/hooks";
import { waits } from "../approvals/said.ts";
import { api, post, seg, type ApiError, type Page } from "../api.ts";
import { CampaignLink } from "../campaign/link.tsx";
import { money } from "../format.ts";
import { usePages } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { to } from "../route.ts";
import { serverNow } from "../servertime.ts";
import { mayAct } from "../session.ts";
import { payouts } from "../strings/payouts.ts";
import type { Approval, Claim, DeadLetter, Dismissed, Retried } from "../../shared/schemas.ts";
import { Act, Button, Confirm, Money, PagedTable, said, toast, type Column } from "../ui/index.ts";
import { age } from "./age.ts";

const t = texts(payouts);

/** PayoutsPage lists the payments that need a person, retries one or all, and ends those that are nobody's. */
export function PayoutsPage() {
  const list = usePages<DeadLetter>((cursor, signal) => api<Page<DeadLetter>>(`/payouts?state=dead&limit=50${cursor && `&cursor=${seg(cursor)}`}`, { signal }), []);
  const [one, setOne] = useState<DeadLetter | null>(null);
  const [nobodys, setNobodys] = useState<DeadLetter | null>(null);
  const [all, setAll] = useState(false);
  const sum = money(list.items.reduce((n, d) => n + d.amount, 0));
  const total = t(list.more ? "totalMore" : "total", { count: list.items.length, sum });

  async function retryOne(letter: DeadLetter): Promise<void> {
    const now = await post<Claim | Approval>(`/payouts/${seg(letter.claim)}/retry`);
    if (waits(now)) return;
    toast(t(now.state === "settled" ? "settled" : "again", { claim: letter.claim, amount: money(letter.amount) }));
    list.reload();
  }
  async function dismiss(letter: DeadLetter, reason: string): Promise<void> {
    const d = await post<Dismissed | Approval>(`/payouts/${seg(letter.claim)}/dismiss`, { letter: letter.letter, reason });
    if (waits(d)) return;
    toast(t(d.reclaimed > 0 ? "dismissedBack" : "dismissed", { claim: letter.claim, amount: money(d.reclaimed) }));
    list.reload();
  }
  async function retryAll(): Promise<void> {
    const r = await post<Retried>("/payouts/retry");
    const said = t("resultAll", { retried: r.retried, settled: r.settled, still: r.still_dead });
    const more = [said, r.need_two > 0 ? t("needTwo", { count: r.need_two }) : "", r.complete ? "" : t("incomplete")].filter(Boolean).join(" ");
    toast(more, r.complete && r.still_dead === 0 && !r.need_two ? "good" : "bad");
    list.reload();
  }
  return (
    <section class="panel">
      <header>
        <div><h1>{t("title")}</h1><p class="soft">{t("lead")}</p></div>
        <div class="row">
          <Button onClick={list.reload} busy={list.loading}>{t("reload")}</Button>
          {list.items.length > 0 && <Act needs="letters" kind="main" onClick={() => setAll(true)}>{t("retryAll")}</Act>}
        </div>
      </header>
      {list.items.length > 0 && <p class="total num">{total}</p>}
      <PagedTable cards label={t("title")} columns={columns(setOne, setNobodys)} pages={list} rowKey={(d) => d.letter}
        empty={<><h2>{t("none")}</h2><p>{t("noneText")}</p></>} />
      {one && (
        <Confirm title={t("retryTitle")} yes={t("retry")} run={() => retryOne(one)} explain={explain} onClose={() => setOne(null)}>
          <p><strong>{t("retryText", { amount: money(one.amount), who: one.user || one.campaign || t("nobody") })}</strong></p>
          <p class="mono">{one.claim}</p>
          <p>{t("retryWhat")}</p>
        </Confirm>
      )}
      {nobodys && (
        <Confirm title={t("dismissTitle")} yes={t("dismiss")} danger ask={t("why")} run={(_, why) => dismiss(nobodys, why)} explain={explain} onClose={() => setNobodys(null)}>
          <p><strong>{t("retryText", { amount: money(nobodys.amount), who: nobodys.user || nobodys.campaign || t("nobody") })}</strong></p>
          <p class="mono">{nobodys.claim}</p>
          <p class="why">{said(nobodys.reason)}</p>
          <p>{t("dismissWhat")}</p>
        </Confirm>
      )}
      {all && (
        <Confirm title={t("retryAllTitle")} yes={t("retryAll")} run={retryAll} onClose={() => setAll(false)}>
          <p><strong>{t(list.more ? "retryAllMore" : "retryAllText", { count: list.items.length, sum })}</strong></p>
          <p>{t("retryWhat")}</p>
        </Confirm>
      )}
    </section>
  );
}

function explain(fault: ApiError): string | undefined {
  return fault.code === "unknown_claim" ? t("unknown_claim") : undefined;
}

function columns(retry: (letter: DeadLetter) => void, dismiss: (letter: DeadLetter) => void): Column<DeadLetter>[] {
  const list: Column<DeadLetter>[] = [
    { key: "amount", head: t("amount"), num: true, cell: (d) => <Money minor={d.amount} /> },
    { key: "kind", head: t("kind"), cell: (d) => <span class="nowrap">{t.has(d.kind) ? t(d.kind) : d.kind}</span> },
    { key: "user", head: t("user"), cell: (d) => d.user && <a class="id" href={to("users", d.user)}>{d.user}</a> },
    { key: "campaign", head: t("campaign"), hide: true, cell: (d) => d.campaign && <CampaignLink id={d.campaign} /> },
    { key: "age", head: t("age"), num: true, cell: (d) => age(serverNow() - d.created_at) },
    { key: "reason", head: t("reason"), cell: (d) => <span class="why">{said(d.reason)}</span> },
    { key: "claim", head: t("claim"), hide: true, cell: (d) => (d.kind === "withdrawal" ? <a class="mono" href={to("withdrawals", d.claim)}>{d.claim}</a> : <span class="mono">{d.claim}</span>) },
  ];
  if (mayAct()) {
    list.push({
      key: "actions", head: <span class="unseen">{t("actions")}</span>,
      cell: (d) => (
        <div class="row">
          <Act needs="letters" small onClick={() => retry(d)} label={`${t("retry")}: ${d.claim}`}>{t("retry")}</Act>
          {d.kind !== "withdrawal" && <Act needs="letters" small onClick={() => dismiss(d)} label={`${t("dismiss")}: ${d.claim}`}>{t("dismiss")}</Act>}
        </div>
      ),
    });
  }
  return list;
}
