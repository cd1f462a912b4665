import "../claims/claims.css";
import "../risk/risk.css";

import { useState } from "preact/hooks";
import { api, seg, type Page } from "../api.ts";
import { claimColumns } from "../claims/columns.tsx";
import { when } from "../format.ts";
import { useInterval, useLoad, usePages } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { HeldList } from "../risk/list.tsx";
import { Reasons, Verdict } from "../risk/reasons.tsx";
import { to } from "../route.ts";
import { claims } from "../strings/claims.ts";
import { players } from "../strings/players.ts";
import type { AuditRecord, Claim, Player, RiskVerdict, Sanction } from "../../shared/schemas.ts";
import { Act, Badge, Called, Copy, FaultBox, Loading, Money, PagedTable, Table, Time, type Column } from "../ui/index.ts";
import { WithdrawalList } from "../withdrawals/list.tsx";
import { ConfirmAct, type Act as ActName } from "./acts.tsx";

const t = texts(players);
const c = texts(claims);
const EVERY = 10_000; // ms: sockets come and go

/** PlayerPage is everything about one player, and what can be done about them. */
export function PlayerPage({ user }: { user: string }) {
  const load = useLoad((signal) => api<Player>(`/users/${seg(user)}`, { signal }), [user]);
  const won = usePages<Claim>((cursor, signal) => api<Page<Claim>>(`/users/${seg(user)}/claims?limit=50${cursor && `&cursor=${seg(cursor)}`}`, { signal }), [user]);
  const [act, ask] = useState<ActName | null>(null);
  const [turn, setTurn] = useState(0); // of the log, which grows with what is done
  useInterval(() => load.loading || load.reload(), EVERY);
  const p = load.data;
  const { verdicts = [], sanctions = [] }: Partial<Player> = p ?? {}; // older servers tell neither
  const done = (after: Player) => (load.set(after), setTurn((n) => n + 1));
  return (
    <div class="stack">
      <section class="panel">
        <p><a href={to("users")}>‹ {t("toList")}</a></p>
        <header>
          <h1 class="row">{c("userTitle", { user })}<Copy text={user} label={c("copyUser")} />{p?.banned && <Badge tone="bad">{t("banned")}</Badge>}</h1>
          {p && (
            <div class="row">
              <Act needs="players" onClick={() => ask("disconnect")}>{t("disconnect")}</Act>
              {p.banned ? <Act needs="players" kind="main" onClick={() => ask("unban")}>{t("unban")}</Act> : <Act needs="players" kind="danger" onClick={() => ask("ban")}>{t("ban")}</Act>}
            </div>
          )}
        </header>
        {p ? <Facts of={p} /> : load.fault ? <FaultBox fault={load.fault} retry={load.reload} /> : <Loading />}
      </section>
      {verdicts.length > 0 && (
        <section class="panel">
          <header><h2>{t("verdicts")}</h2></header>
          <Table cards label={t("verdicts")} columns={verdictColumns()} rows={verdicts} rowKey={(v) => `${v.at} ${v.verdict} ${v.score}`} />
        </section>
      )}
      {verdicts.length > 0 && (
        <section class="panel">
          <header><h2>{t("held")}</h2></header>
          <HeldList own state="held" user={user} onDecided={() => (load.reload(), won.reload())} />
        </section>
      )}
      <section class="panel">
        <header><h2>{c("userClaims")}</h2></header>
        <PagedTable cards label={c("userClaims")} columns={claimColumns(false)} pages={won} rowKey={(one) => one.claim}
          empty={<><h3>{c("userNone")}</h3><p>{c("userNoneText")}</p></>} />
      </section>
      <section class="panel">
        <header><h2>{c("userWithdrawals")}</h2></header>
        <WithdrawalList path={`/users/${seg(user)}/withdrawals`} player={false} />
      </section>
      {sanctions.length > 0 && (
        <section class="panel">
          <header><h2>{t("done")}</h2></header>
          <Table cards label={t("done")} columns={sanctionColumns()} rows={sanctions} rowKey={(s) => `${s.at} ${s.act} ${s.by}`} />
        </section>
      )}
      <Log user={user} turn={turn} />
      {act && <ConfirmAct act={act} user={user} onClose={() => ask(null)} onDone={done} />}
    </div>
  );
}

function Facts({ of: p }: { of: Player }) {
  const newest = p.verdicts?.[0];
  const facts: [string, preact.ComponentChildren][] = [
    ...(p.name ? [[t("name"), <Called of={p} />] as [string, preact.ComponentChildren]] : []),
    [t("balance"), <strong><Money minor={p.balance} /></strong>],
    [t("connections"), p.connections === undefined ? <span class="soft">{t("unknownNow")}</span> : p.connections.length === 0 ? <span class="soft">{t("notConnected")}</span>
      : <><Badge tone="live">{t("connected", { n: p.connections.length })}</Badge> <span class="soft">{p.connections.map((one) => t("since", { at: when(one.since), node: one.node })).join("; ")}</span></>],
    [t("verdicts"), newest ? <Verdict verdict={newest.verdict} score={newest.score} /> : <span class="soft">{t("noVerdict")}</span>],
  ];
  return <dl class="details">{facts.map(([label, value]) => <div key={label}><dt>{label}</dt><dd>{value}</dd></div>)}</dl>;
}

function verdictColumns(): Column<RiskVerdict>[] {
  return [
    { key: "at", head: t("at"), cell: (v) => <Time ms={v.at} /> },
    { key: "verdict", head: t("act"), cell: (v) => <Verdict verdict={v.verdict} score={v.score} /> },
    { key: "reasons", head: t("reason"), cell: (v) => <Reasons of={v.reasons} /> },
    { key: "by", head: t("by"), cell: (v) => v.by },
  ];
}

function sanctionColumns(): Column<Sanction>[] {
  return [
    { key: "at", head: t("at"), cell: (s) => <Time ms={s.at} /> },
    { key: "act", head: t("act"), cell: (s) => <Badge tone={s.act === "ban" ? "bad" : s.act === "unban" ? "good" : "none"}>{t(`act_${s.act}`)}</Badge> },
    { key: "reason", head: t("reason"), cell: (s) => <span class="why">{s.reason}</span> },
    { key: "by", head: t("by"), cell: (s) => s.by },
  ];
}

/** Log is the lines of the audit log that are about the player. */
function Log({ user, turn }: { user: string; turn: number }) {
  const list = usePages<AuditRecord>((cursor, signal) => {
    const query = new URLSearchParams({ target: `user:${user}`, limit: "20", ...(cursor && { cursor }) });
    return api<Page<AuditRecord>>(`/audit?${query}`, { signal });
  }, [user, turn]);
  const columns: Column<AuditRecord>[] = [
    { key: "at", head: t("at"), cell: (r) => <Time ms={r.at} /> },
    { key: "actor", head: t("actor"), cell: (r) => r.actor },
    { key: "action", head: t("action"), cell: (r) => <span class="mono">{r.action}</span> },
    { key: "reason", head: t("reason"), cell: (r) => <span class="why">{typeof r.detail?.reason === "string" ? r.detail.reason : ""}</span> },
  ];
  return (
    <section class="panel">
      <header><h2>{t("log")}</h2></header>
      <PagedTable cards label={t("log")} columns={columns} pages={list} rowKey={(r) => `${r.at} ${r.action}`} empty={<h3>{t("noLog")}</h3>} />
    </section>
  );
}
