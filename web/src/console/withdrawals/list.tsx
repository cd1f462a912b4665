import { api, type Page } from "../api.ts";
import { when } from "../format.ts";
import { usePages } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { to } from "../route.ts";
import { withdrawals } from "../strings/withdrawals.ts";
import { ui } from "../strings/ui.ts";
import type { WithdrawalRecord } from "../../shared/schemas.ts";
import { Badge, Money, PagedTable, State, Time, said, type Column } from "../ui/index.ts";

const t = texts(withdrawals);
const states = texts(ui);

interface Props {
  /** Of the API, without a query. */
  path: string;
  /** player: whose they are is a column. */
  player: boolean;
  /** state: of the API; "" for all. */
  state?: string;
  /** turn: another number loads the list anew. */
  turn?: number;
}

/** WithdrawalList is a list of withdrawals, page by page. */
export function WithdrawalList({ path, player, state = "", turn = 0 }: Props) {
  const list = usePages<WithdrawalRecord>((cursor, signal) => {
    const query = new URLSearchParams({ limit: "50", ...(state && { state }), ...(cursor && { cursor }) });
    return api<Page<WithdrawalRecord>>(`${path}?${query}`, { signal });
  }, [path, state, turn]);
  const columns: Column<WithdrawalRecord>[] = [
    { key: "created", head: t("created"), cell: (w) => <Time ms={w.created_at} /> },
    ...(player ? [{ key: "user", head: t("user"), cell: (w: WithdrawalRecord) => <a class="id" href={to("users", w.user)}>{w.user}</a> }] : []),
    { key: "amount", head: t("amount"), num: true, cell: (w) => <Money minor={w.amount} /> },
    { key: "state", head: t("state"), cell: (w) => <StateOf of={w} /> },
    { key: "finished", head: t("finished"), hide: true, cell: (w) => <Time ms={w.finished_at} /> },
    { key: "detail", head: t("detail"), cell: (w) => <span class="why">{detail(w)}</span> },
    { key: "id", head: t("withdrawal"), hide: true, cell: (w) => <span class="mono">{w.withdrawal}</span> },
    { key: "open", head: <span class="unseen">{t("actions")}</span>, cell: (w) => <a class="nowrap" href={to("withdrawals", w.withdrawal)} aria-label={`${t("open")}: ${w.withdrawal}`}>{t("open")}</a> },
  ];
  return (
    <PagedTable cards label={t("title")} columns={columns} pages={list} rowKey={(w) => w.withdrawal}
      empty={state ? <h3>{t("noneState")}</h3> : <><h3>{t("none")}</h3><p>{t("noneText")}</p></>} />
  );
}

/** StateOf is a withdrawal's state. A dead one waits for a person, and one with an order for a second one. */
export function StateOf({ of }: { of: WithdrawalRecord }) {
  return (
    <span class="states">
      {of.dead ? <Badge tone="bad">{states("state_dead")}</Badge> : <State of={of.stage ?? of.state} />}
      {of.order && <> <Badge tone="warn">{t("waits")}</Badge></>}
    </span>
  );
}

/** detail is what an accountant asks next: the provider's reference, why it failed, or how often it was tried. */
function detail(w: WithdrawalRecord): string {
  if (w.state === "paid") return w.reference ?? "";
  const tried = w.attempts > 0 ? t("attempts", { count: w.attempts }) : "";
  const next = w.state === "pending" && !w.dead && w.next_at && w.attempts > 0 ? t("next", { at: when(w.next_at) }) : "";
  return [said(w.reason ?? w.last_error ?? ""), tried, next, w.receiver ?? ""].filter(Boolean).join(" · ");
}
