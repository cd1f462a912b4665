import { useMemo } from "preact/hooks";
import { api, seg } from "../api.ts";
import { count, millis, rate } from "../format.ts";
import { useLoad } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { Chart, type Line } from "../live/chart.tsx";
import { pastOf } from "../live/past.ts";
import { Ring } from "../live/ring.ts";
import { short } from "../live/tab.tsx";
import { toLocal } from "../servertime.ts";
import { live as liveStrings } from "../strings/live.ts";
import { rains as strings } from "../strings/rains.ts";
import type { Campaign, History, Rain } from "../../shared/schemas.ts";
import { Dialog, Empty, FaultBox, Loading } from "../ui/index.ts";
import { since, sumUp } from "./summary.ts";

const t = texts(strings);
const l = texts(liveStrings);

const BEFORE = 5_000; // ms that are shown before and after the rain
const AFTER = 10_000;

/** RainFigures is what happened in a rain, as the server has kept it. */
export function RainFigures({ campaign, rain, onClose }: { campaign: Campaign; rain: Rain; onClose: () => void }) {
  const [from, to] = [rain.starts_at - BEFORE, rain.ends_at + AFTER];
  const kept = useLoad((signal) => api<History>(`/campaigns/${seg(campaign.id)}/history?from=${from}&to=${to}`, { signal }), [campaign.id, rain.id]);
  return (
    <Dialog title={t("figuresTitle")} onClose={onClose} wide>
      {!kept.data && (kept.fault ? <FaultBox fault={kept.fault} retry={kept.reload} /> : <Loading />)}
      {kept.data && (kept.data.t.length === 0 ? <Empty><p>{t("figuresNone")}</p></Empty> : <Charts history={kept.data} rain={rain} />)}
    </Dialog>
  );
}

function Charts({ history, rain }: { history: History; rain: Rain }) {
  const sums = sumUp(history, rain.starts_at);
  // Once for an answer: the page is drawn anew with each figure that comes, and a chart with another ring begins anew.
  const { ring, shift } = useMemo(() => {
    const [ring, shift] = [new Ring(), toLocal(0)];
    ring.before(pastOf({ ...history, won: since(history, rain.starts_at, history.won) }, shift));
    return { ring, shift };
  }, [history, rain.starts_at]);
  const local = (from: number, to: number) => ({ from: (from + shift) / 1_000, to: (to + shift) / 1_000 });
  const line = (key: Line["key"], label: string, color: string, format: Line["format"], more: Partial<Line> = {}): Line => ({ key, label, color, format, ...more });
  const chart = { ring, span: local(history.from, history.to), bands: [local(rain.starts_at, rain.ends_at)] };
  const figures: [string, string, string][] = [
    ["taps", t("figTaps"), count(sums.taps)], ["won", t("figWon"), count(sums.won)], ["peak", t("figPeak"), rate(sums.peak)],
    ["online", t("figOnline"), count(sums.online)], ["p50", t("figP50"), millis(sums.p50)], ["p99", t("figP99"), millis(sums.p99)],
  ];
  return (
    <div class="stack">
      <dl class="figures">
        {figures.map(([name, label, value]) => <div class="figure" key={name} data-stat={`rain-${name}`}><dt>{label}</dt><dd><b>{value}</b></dd></div>)}
      </dl>
      {sums.span > 1 && <p class="soft">{t("figuresAged", { n: sums.span })}</p>}
      <div class="charts">
        <Chart {...chart} least={10} title={l("grabs")} axis={short} lines={[line("grabs", l("grabs"), "--c1", rate, { fill: true })]} words={`${t("figPeak")}: ${rate(sums.peak)}`} />
        <Chart {...chart} least={10} title={l("chartStockTitle")} axis={short} lines={[line("won", l("chartWon"), "--c1", count), line("stock", l("left"), "--c2", count)]} words={`${t("figWon")}: ${count(sums.won)}`} />
        <Chart {...chart} least={1} title={l("latency")} lines={[line("p50", l("p50"), "--c3", millis), line("p99", l("p99"), "--c4", millis)]} words={`${t("figP99")}: ${millis(sums.p99)}`} />
        <Chart {...chart} least={10} title={l("online")} axis={short} lines={[line("online", l("online"), "--c2", count, { fill: true })]} words={`${t("figOnline")}: ${count(sums.online)}`} />
      </div>
    </div>
  );
}
