import { useState } from "preact/hooks";
import { count, millis, rate } from "../format.ts";
import { texts } from "../i18n.ts";
import { serverNow } from "../servertime.ts";
import { live as strings } from "../strings/live.ts";
import type { Campaign } from "../../shared/schemas.ts";
import { Age } from "./age.tsx";
import { Chart, type Band, type Line } from "./chart.tsx";
import { Outcomes, Packets, Traffic } from "./figures.tsx";
import { seconds, type Live } from "./uselive.ts";

const t = texts(strings);
const SPANS = [1, 5, 15]; // minutes

/** LiveTab is the campaign as it is this second, and the minutes before. */
export function LiveTab({ campaign, live }: { campaign: Campaign; live: Live }) {
  const [minutes, setMinutes] = useState(5);
  const span = minutes * 60;
  const { ring, stats } = live;
  const most = (key: "grabs" | "online") => ring.most(key, seconds() - span);
  const line = (key: Line["key"], label: Parameters<typeof t>[0], color: string, format: Line["format"], more: Partial<Line> = {}): Line => ({ key, label: t(label), color, format, ...more });
  const chart = { ring, span, bands: bandsOf(campaign) };
  return (
    <div class="stack">
      <Packets campaign={campaign} stats={stats} />
      <section class="panel">
        <header>
          <h2>{t("traffic")}</h2>
          <div class="row">
            <Age live={live} />
            <div class="spans" role="group" aria-label={t("span")}>
              {SPANS.map((m) => <button key={m} type="button" aria-pressed={m === minutes} onClick={() => setMinutes(m)}>{t("minutes", { m })}</button>)}
            </div>
          </div>
        </header>
        <Traffic stats={stats} />
        <div class="charts">
          <Chart {...chart} least={10} title={t("grabs")} axis={short} lines={[line("grabs", "grabs", "--c1", rate, { fill: true })]}
            words={t("chartGrabs", { now: rate(stats?.grabs_per_second), most: rate(most("grabs")), m: minutes })} />
          <Chart {...chart} least={10} title={t("chartOutcomesTitle")} axis={short}
            lines={[line("wins", "outcome_won", "--c1", rate), line("empty", "outcome_empty", "--c2", rate), line("late", "outcome_late", "--c4", rate)]}
            words={t("chartOutcomes", { won: rate(ring.last("wins")), empty: rate(ring.last("empty")), late: rate(ring.last("late")) })} />
          <Chart {...chart} least={10} title={t("chartStockTitle")} axis={short} lines={[line("won", "chartWon", "--c1", count), line("stock", "left", "--c2", count)]}
            words={t("chartStock", { won: count(stats?.won), stock: count(stats?.stock) })} />
          <Chart {...chart} least={1} title={t("latency")} lines={[line("p50", "p50", "--c3", millis), line("p99", "p99", "--c4", millis)]}
            words={t("chartLatency", { p50: millis(stats?.tap_p50_ms), p99: millis(stats?.tap_p99_ms) })} />
          <Chart {...chart} least={10} title={t("chartPaidTitle")} axis={short} lines={[line("won", "chartWon", "--c1", count), line("paid", "paid", "--c3", count, { dashed: true })]}
            words={t("chartPaid", { won: count(stats?.won), paid: count(stats?.paid) })} />
          <Chart {...chart} least={10} title={t("online")} axis={short} lines={[line("online", "online", "--c2", count, { fill: true })]}
            words={t("chartOnline", { now: count(stats?.online), most: count(most("online")) })} />
        </div>
      </section>
      <Outcomes stats={stats} />
    </div>
  );
}

/** bandsOf is when it rains, for the charts. */
export function bandsOf(campaign: Campaign): Band[] {
  const shift = seconds() * 1_000 - serverNow();
  return campaign.rains.map((r) => ({ from: (r.starts_at + shift) / 1_000, to: (r.ends_at + shift) / 1_000 }));
}

/** short is a number beside a chart: 12,500 is "12.5k". */
export function short(n: number): string {
  if (n < 10) return String(Number(n.toFixed(1)));
  if (n >= 1e6) return `${Number((n / 1e6).toFixed(2))}M`;
  return n >= 1e4 ? `${Number((n / 1e3).toFixed(1))}k` : count(n);
}
