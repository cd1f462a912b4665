import "../claims/claims.css";
import "./risk.css";

import { useState } from "preact/hooks";
import { api, type Page } from "../api.ts";
import { money } from "../format.ts";
import { usePages } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { to } from "../route.ts";
import { may, mayAct } from "../session.ts";
import { risk } from "../strings/risk.ts";
import type { HeldWin } from "../../shared/schemas.ts";
import { Act, Badge, Money, PagedTable, Time, type Column } from "../ui/index.ts";
import { countHeldAgain } from "./count.ts";
import { DecideHeld, type Act as Decision } from "./decide.tsx";
import { Reasons, Verdict } from "./reasons.tsx";
import { sumOf } from "./sum.ts";

const t = texts(risk);
const LIMIT = 200;

/** HeldState is how far a held win has come. */
export type HeldState = HeldWin["state"];

interface Props {
  state: HeldState;
  user?: string;
  campaign?: string;
  /** own: the list stands on the page of its player, whose id is not said again. */
  own?: boolean;
  onDecided?: () => void;
}

/** HeldList is wins that are, or were, kept apart, with the reasons; those that wait can be chosen and decided about. */
export function HeldList({ state, user = "", campaign = "", own = false, onDecided }: Props) {
  const list = usePages<HeldWin>((cursor, signal) => {
    const query = new URLSearchParams({ state, limit: String(LIMIT), ...(user && { user }), ...(!user && campaign && { campaign }), ...(cursor && { cursor }) });
    return api<Page<HeldWin>>(`/risk/held?${query}`, { signal });
  }, [state, user, campaign]);
  const [picked, pick] = useState<ReadonlySet<string>>(new Set());
  // What the dialog has named is what is decided, whatever the list behind it shows by then.
  const [decision, setDecision] = useState<{ act: Decision; wins: readonly HeldWin[] } | null>(null);
  const open = state === "held" && mayAct();
  const chosen = open ? list.items.filter((w) => picked.has(w.claim)) : [];
  const all = list.items.length > 0 && chosen.length === list.items.length;
  const toggle = (claim: string) => pick((before) => {
    const after = new Set(before);
    if (!after.delete(claim)) after.add(claim);
    return after;
  });
  const sum = sumOf(chosen);
  const decide = (act: Decision) => setDecision({ act, wins: chosen });
  const done = () => {
    pick(new Set());
    list.reload();
    countHeldAgain();
    onDecided?.();
  };
  return (
    <>
      {open && list.items.length > 0 && (
        <div class="picked">
          <label><input type="checkbox" name="all" checked={all} onChange={() => pick(new Set(all ? [] : list.items.map((w) => w.claim)))} /> {t("selectAll", { n: list.items.length })}</label>
          <span class="soft" role="status">{sum.n > 0 && t("chosen", { ...sum, amount: money(sum.amount) })}</span>
          <span class="row">
            <Act needs="letters" disabled={may("letters") && sum.n === 0} onClick={() => decide("release")}>{t("release")}</Act>
            <Act needs="letters" kind="danger" disabled={may("letters") && sum.n === 0} onClick={() => decide("confirm")}>{t("confirm")}</Act>
          </span>
        </div>
      )}
      <PagedTable cards label={t("title")} columns={columns(open ? picked : null, toggle, own, state)} pages={list} rowKey={(w) => w.claim}
        empty={own ? <h3>{t("noneState")}</h3> : state === "held" && !user && !campaign ? <><h2>{t("nothing")}</h2><p>{t("nothingText")}</p></> : <h2>{t("noneState")}</h2>} />
      {decision && <DecideHeld {...decision} onClose={() => setDecision(null)} onDone={done} />}
    </>
  );
}

function columns(picked: ReadonlySet<string> | null, toggle: (claim: string) => void, own: boolean, state: HeldState): Column<HeldWin>[] {
  const list: Column<HeldWin>[] = [];
  if (picked) {
    list.push({
      key: "pick", head: <span class="unseen">{t("select")}</span>,
      cell: (w) => <input type="checkbox" name="pick" checked={picked.has(w.claim)} aria-label={t("selectOne", { user: w.user, amount: money(w.amount) })} onChange={() => toggle(w.claim)} />,
    });
  }
  if (!own) list.push({ key: "user", head: t("player"), cell: (w) => <a class="id" href={to("users", w.user)}>{w.user}</a> });
  list.push(
    { key: "amount", head: t("amount"), num: true, cell: (w) => <Money minor={w.amount} /> },
    { key: "score", head: t("score"), cell: (w) => <Verdict verdict={w.verdict} score={w.score} /> },
    { key: "why", head: t("why"), cell: (w) => <Reasons of={w.reasons} /> },
    { key: "campaign", head: t("campaign"), cell: (w) => <a class="mono" href={to("campaigns", w.campaign)}>{w.campaign}</a> },
    { key: "at", head: t("won"), cell: (w) => <Time ms={w.at} /> },
  );
  if (state !== "held") {
    list.push({ key: "decided", head: t("decided"), cell: (w) => <span><Badge>{t(`state_${w.state}`)}</Badge> <small class="soft">{w.decided_by}: {w.decision}</small> <small><Time ms={w.decided_at} /></small></span> });
  }
  return list;
}
