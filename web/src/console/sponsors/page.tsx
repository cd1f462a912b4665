import { useState } from "preact/hooks";
import { api, seg, type Page } from "../api.ts";
import { usePages } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { to } from "../route.ts";
import { may, mayAct } from "../session.ts";
import { sponsors } from "../strings/sponsors.ts";
import type { Sponsor } from "../../shared/schemas.ts";
import { Act, Money, PagedTable, type Column } from "../ui/index.ts";
import { DepositDialog } from "./deposit.tsx";

const t = texts(sponsors);

/** SponsorsPage lists who pays, and what they have. */
export function SponsorsPage() {
  const list = usePages<Sponsor>((cursor, signal) => api<Page<Sponsor>>(`/sponsors?limit=50${cursor && `&cursor=${seg(cursor)}`}`, { signal }), []);
  const [depositing, setDepositing] = useState<string | null>(null);
  const columns: Column<Sponsor>[] = [
    { key: "sponsor", head: t("sponsor"), cell: (s) => s.sponsor },
    { key: "balance", head: t("balance"), num: true, cell: (s) => <Money minor={s.balance} /> },
  ];
  if (mayAct()) {
    columns.push({
      key: "actions", head: <span class="unseen">{t("actions")}</span>,
      cell: (s) => (
        <span class="row nowrap">
          <Act needs="deposits" small onClick={() => setDepositing(s.sponsor)} label={`${t("deposit")}: ${s.sponsor}`}>{t("deposit")}</Act>
          {may("campaigns") && <a href={to("new", { sponsor: s.sponsor })}>{t("campaignFor")}</a>}
        </span>
      ),
    });
  }
  return (
    <section class="panel">
      <header>
        <div><h1>{t("title")}</h1><p class="soft">{t("lead")}</p></div>
        <Act needs="deposits" kind="main" onClick={() => setDepositing("")}>{t("deposit")}</Act>
      </header>
      <PagedTable cards label={t("title")} columns={columns} pages={list} rowKey={(s) => s.sponsor}
        empty={<><h2>{t("empty")}</h2><p>{t("emptyText")}</p></>} />
      {depositing !== null && <DepositDialog sponsor={depositing} onClose={() => setDepositing(null)} onDone={list.reload} />}
    </section>
  );
}
