import "../claims/claims.css";
import "./audit.css";

import { useState } from "preact/hooks";
import { api, seg, type Page } from "../api.ts";
import { money } from "../format.ts";
import { usePages } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { to } from "../route.ts";
import { audit } from "../strings/books.ts";
import type { AuditRecord } from "../../shared/schemas.ts";
import { Button, Empty, PagedTable, TextField, Time, type Column } from "../ui/index.ts";
import { matches, placeOf } from "./search.ts";

const t = texts(audit);

/** AuditPage is who did what, and when. */
export function AuditPage() {
  const list = usePages<AuditRecord>((cursor, signal) => api<Page<AuditRecord>>(`/audit?limit=100${cursor && `&cursor=${seg(cursor)}`}`, { signal }), []);
  const [search, setSearch] = useState("");
  const wanted = search.trim();
  const rows = wanted ? list.items.filter((r) => matches(r, wanted)) : list.items;
  return (
    <section class="panel audit">
      <header>
        <div><h1>{t("title")}</h1><p class="soft">{t("lead")}</p></div>
        <Button onClick={list.reload} busy={list.loading}>{t("reload")}</Button>
      </header>
      {list.items.length > 0 && (
        <search>
          <TextField name="search" kind="search" label={t("filter")} value={search} onInput={setSearch} />
          <p class="soft" role="status">{wanted && t("found", { count: rows.length, loaded: list.items.length })}</p>
        </search>
      )}
      <PagedTable cards label={t("title")} columns={columns()} pages={list} rows={rows} rowKey={keyOf}
        empty={<><h2>{t("none")}</h2><p>{t("noneText")}</p></>} />
      {wanted && rows.length === 0 && <Empty><h2>{t("noMatch")}</h2><p>{t("noMatchText")}</p></Empty>}
    </section>
  );
}

// Records have no id; two of one command and moment differ in what they are about.
const keyOf = (r: AuditRecord) => `${r.at} ${r.action} ${r.target} ${JSON.stringify(r.detail)}`;

function columns(): Column<AuditRecord>[] {
  return [
    { key: "at", head: t("at"), cell: (r) => <Time ms={r.at} /> },
    { key: "actor", head: t("actor"), cell: (r) => <>{r.actor} {r.actor !== r.role && <small class="soft">{r.role}</small>}</> },
    { key: "action", head: t("action"), cell: (r) => <span class="mono nowrap">{r.action}</span> },
    { key: "target", head: t("target"), cell: (r) => <Target of={r.target} /> },
    { key: "detail", head: t("detail"), cell: (r) => <Detail of={r.detail} /> },
    { key: "request", head: t("request"), cell: (r) => <span class="mono why">{r.request}</span> },
  ];
}

function Target({ of }: { of: string }) {
  const place = placeOf(of);
  return place ? <a class="mono nowrap" href={to(...place)}>{of}</a> : <span class="mono">{of}</span>;
}

// The fields of records that are money, in minor units, at whatever depth.
const MONEY = new Set(["amount", "balance", "budget", "reclaimed", "sponsor_balance"]);

/** inMoney is a record's detail with its amounts as money. */
function inMoney(of: Record<string, unknown>): Record<string, unknown> {
  const text = JSON.stringify(of, (name, value: unknown) => (MONEY.has(name) && typeof value === "number" ? money(value) : value));
  return JSON.parse(text) as Record<string, unknown>;
}

/** Detail is a record's own fields; long ones are cut short until they are asked for. */
function Detail({ of }: { of: Record<string, unknown> | null }) {
  if (!of) return null;
  const fields = inMoney(of);
  const text = Object.entries(fields).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join(" · ");
  if (text.length <= 80) return <span class="mono why">{text}</span>;
  return <details class="mono why"><summary>{text.slice(0, 72)}…</summary><pre tabIndex={0}>{JSON.stringify(fields, null, 2)}</pre></details>;
}
