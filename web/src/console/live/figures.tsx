import type { ComponentChildren } from "preact";
import { count, millis, money, percent, rate } from "../format.ts";
import { texts } from "../i18n.ts";
import { to } from "../route.ts";
import { live as strings } from "../strings/live.ts";
import type { Campaign, Stats } from "../../shared/schemas.ts";

const t = texts(strings);

interface FigureProps {
  /** name is for tests and for those who style: data-stat. */
  name: string;
  label: string;
  value: ComponentChildren;
  under?: ComponentChildren;
  bad?: boolean;
}

function Figure({ name, label, value, under, bad = false }: FigureProps) {
  return (
    <div class={`figure ${bad ? "bad" : ""}`} data-stat={name}>
      <dt>{label}</dt>
      <dd><b>{value}</b>{under != null && <small>{under}</small>}</dd>
    </div>
  );
}

/** Packets is where the budget is: paid, won and on its way, left; as a bar and in figures. */
export function Packets({ campaign: c, stats: s }: { campaign: Campaign; stats: Stats | undefined }) {
  const paid = s?.paid ?? 0;
  const unknown = s?.unknown_shards ?? 0;
  const onWay = s?.amount_won == null || s.amount_paid == null || unknown > 0 ? undefined : Math.max(0, s.amount_won - s.amount_paid);
  const returned = s?.amount_reclaimed ?? 0;
  const way = s?.paid == null ? 0 : Math.max(0, s.won - paid);
  const part = (n: number) => ({ width: `${c.packets > 0 ? (100 * n) / c.packets : 0}%` });
  return (
    <section class="panel packets" aria-label={t("packets")}>
      <div class="stock" role="img" aria-label={s ? t("stockWords", { won: s.won, packets: c.packets, part: percent(s.won, c.packets) }) : t("noFigures")}>
        <i class="paid" style={part(paid)} /><i class="way" style={part(way)} />
      </div>
      {unknown > 0 && <p class="badge bad" role="status" data-stat="unknown">{t("unknownShards", { n: unknown, shards: c.shards })}</p>}
      <dl class="figures wide">
        <Figure name="amount_won" label={t("won")} value={money(s?.amount_won)} under={<span data-stat="won"><b>{count(s?.won)}</b> {t("ofPackets", { packets: c.packets, part: s ? percent(s.won, c.packets) : "–" })}</span>} />
        <Figure name="amount_paid" label={t("paid")} value={money(s?.amount_paid)} under={<span data-stat="paid"><b>{count(s?.paid)}</b> {t("packetsWord")}</span>} />
        <Figure name="amount_left" label={t("left")} value={money(s?.amount_left)} under={<span data-stat="stock"><b>{count(s?.stock)}</b> {t("packetsWord")}</span>} />
        {returned > 0 && <Figure name="amount_returned" label={t("returned")} value={money(returned)} under={t("returnedUnder")} />}
        <Figure name="outbox" label={t("outbox")} value={count(s?.outbox)} under={onWay === undefined ? undefined : t("outboxUnder", { amount: money(onWay) })} />
        <Figure name="dead" label={t("dead")} value={count(s?.dead)} bad={(s?.dead ?? 0) > 0} under={(s?.dead ?? 0) > 0 ? <a href={to("payouts")}>{t("deadLook")}</a> : s?.dead === 0 ? t("deadUnder") : undefined} />
      </dl>
    </section>
  );
}

/** Traffic is what comes in. */
export function Traffic({ stats: s }: { stats: Stats | undefined }) {
  return (
    <dl class="figures">
      <Figure name="online" label={t("online")} value={count(s?.online)} />
      {((s?.waiting ?? 0) > 0 || (s?.seated ?? 0) > 0) && <Figure name="waiting" label={t("waiting")} value={count(s?.waiting)} under={t("seated", { n: s?.seated ?? 0 })} />}
      <Figure name="grabs_per_second" label={t("grabs")} value={rate(s?.grabs_per_second)} />
      <Figure name="taps" label={t("taps")} value={count(s?.taps)} under={t("outcomesHint")} />
      <Figure name="tap_p50_ms" label={t("latency50")} value={millis(s?.tap_p50_ms)} />
      <Figure name="tap_p99_ms" label={t("latency99")} value={millis(s?.tap_p99_ms)} />
    </dl>
  );
}

const OUTCOMES = ["won", "empty", "late", "sold_out", "already", "limited", "not_open", "too_fast", "unknown_drop", "unavailable"];

/** Outcomes is what became of the taps. Outcomes that this page does not know yet stand under their own names. */
export function Outcomes({ stats: s }: { stats: Stats | undefined }) {
  const outcomes = s?.outcomes ?? {};
  const names = [...OUTCOMES, ...Object.keys(outcomes).filter((o) => !OUTCOMES.includes(o)).sort()];
  const all = Object.values(outcomes).reduce((sum, n) => sum + n, 0);
  const row = (name: string) => {
    const n = s?.outcomes ? (outcomes[name] ?? 0) : undefined;
    const key = `outcome_${name}`;
    return (
      <div key={name} class="outcome" data-stat={`outcome-${name}`}>
        <dt>{t.has(key) ? t(key) : name}</dt>
        <dd><b>{count(n)}</b><small>{n === undefined ? "" : percent(n, all)}</small><i class="part" style={{ width: `${all > 0 ? (100 * (n ?? 0)) / all : 0}%` }} /></dd>
      </div>
    );
  };
  return (
    <section class="panel">
      <header><h2>{t("outcomes")}</h2><span class="soft">{t("outcomesHint")}</span></header>
      <dl class="outcomes">{names.filter((n) => n !== "unavailable" || (outcomes[n] ?? 0) > 0).map(row)}</dl>
    </section>
  );
}
