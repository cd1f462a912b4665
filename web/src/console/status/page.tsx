import "../claims/claims.css";

import { CampaignLink } from "../campaign/link.tsx";
import { texts } from "../i18n.ts";
import { status } from "../strings/status.ts";
import type { OpenAlarm } from "../../shared/schemas.ts";
import { Button, Empty, FaultBox, Loading, Table, Time, type Column } from "../ui/index.ts";
import { codeName, Said } from "./said.tsx";
import { useAlarms } from "./line.tsx";

const t = texts(status);

/** AlarmsPage is what needs a person. */
export function AlarmsPage() {
  const load = useAlarms();
  const items = load.data?.items ?? [];
  return (
    <section class="panel">
      <header>
        <div><h1>{t("title")}</h1><p class="soft">{t("lead")}</p></div>
        <Button onClick={load.reload} busy={load.loading}>{t("reload")}</Button>
      </header>
      {load.fault && <FaultBox fault={load.fault} retry={load.reload} />}
      {items.length > 0 ? <Table cards label={t("title")} columns={columns()} rows={items} rowKey={(a) => `${a.code} ${a.campaign}`} />
        : load.data ? <Empty><h2>{t("none")}</h2></Empty> : !load.fault && <Loading />}
    </section>
  );
}

function columns(): Column<OpenAlarm>[] {
  return [
    { key: "code", head: t("code"), cell: (a) => codeName(a.code) },
    { key: "campaign", head: t("campaign"), cell: (a) => (a.campaign ? <CampaignLink id={a.campaign} /> : "–") },
    { key: "message", head: t("message"), cell: (a) => <span class="why"><Said of={a} /></span> },
    { key: "times", head: t("times"), num: true, cell: (a) => a.times },
    { key: "first", head: t("first"), hide: true, cell: (a) => <Time ms={a.since} /> },
    { key: "last", head: t("last"), cell: (a) => <Time ms={a.at} /> },
  ];
}

