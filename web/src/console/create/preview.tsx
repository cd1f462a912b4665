import { useMemo, useRef, useState } from "preact/hooks";
import { api, type ApiError } from "../api.ts";
import { count, money } from "../format.ts";
import { useLoad } from "../hooks.ts";
import { Button, FaultBox } from "../ui/index.ts";
import { axisOf, Histogram, type Axis } from "./histogram.tsx";
import { exactBins, oddsAbout, percentile, roundOdds, type Bin } from "./odds.ts";
import { useSettled, useVersion } from "./settled.ts";
import type { SplitBody } from "./validate.ts";
import { t } from "./words.ts";

/** What POST /splits/preview answers. Money is in minor units; mean and deviation have two decimals of one. */
interface SplitSummary {
  packets: number;
  mean: number;
  deviation: number;
  smallest: number;
  median: number;
  largest: number;
  histogram: Bin[];
}

/** A preview and what it is of. */
interface Shown {
  summary: SplitSummary;
  split: SplitBody;
}

/** How long a person has to pause before the server is asked, in ms. */
const PAUSE = 350;

/** Preview shows what comes out of a split, while it is being written. null: there is nothing to cut yet. */
export function Preview({ split }: { split: SplitBody | null }) {
  const settled = useSettled(split, PAUSE);
  const load = useLoad<Shown | null>(
    async (signal) => settled && { summary: await api<SplitSummary>("/splits/preview", { method: "POST", body: settled, signal }), split: settled },
    [useVersion(settled)],
  );
  // The one before stays, pale, until the next one is there: the page does not jump with every key.
  const last = useRef<Shown | null>(null);
  if (load.data) last.current = load.data;
  const [kept, keep] = useState<Shown | null>(null);
  const shown = split && last.current;
  const stale = split !== settled || load.loading;
  const fault: ApiError | undefined = split === settled ? load.fault : undefined;
  const both = shown && kept && kept !== shown;
  const axis = shown && axisOf(both ? [shown.summary.histogram, kept.summary.histogram] : [shown.summary.histogram]);
  return (
    <section class="panel preview" aria-busy={stale}>
      <header>
        <h2>{t("preview")}</h2>
        {kept ? <Button small onClick={() => keep(null)}>{t("drop")}</Button>
          : <Button small disabled={!shown || stale} onClick={() => keep(shown)}>{t("keep")}</Button>}
      </header>
      {!split && <p class="soft">{t("previewEmpty")}</p>}
      {split && !shown && !fault && <p class="soft" role="status">{t("previewBusy")}</p>}
      {fault && <FaultBox fault={fault} retry={load.reload} />}
      {shown && axis && !fault && (
        <div class={stale ? "cuts pale" : "cuts"}>
          <Cut shown={shown} axis={axis} title={both ? "now" : null} />
          {both && <Cut shown={kept} axis={axis} title="kept" />}
        </div>
      )}
      {shown && <p class="soft small">{t("previewNote")}</p>}
    </section>
  );
}

function Cut({ shown: { summary: s, split }, axis, title }: { shown: Shown; axis: Axis; title: "now" | "kept" | null }) {
  const name = t(split.split);
  const alike = s.smallest === s.largest;
  // Of a list every amount is known; of other splits the histogram is.
  const exact = useMemo(() => split.amounts && exactBins(split.amounts), [split.amounts]);
  const bins = exact ?? s.histogram;
  const at = (share: number): [string, string] => {
    const name = `P${Math.round(share * 100)}`;
    return [exact ? name : t("about", { name }), money(percentile(bins, share, s))];
  };
  const label = t("chart", { split: name, packets: s.packets, smallest: money(s.smallest), largest: money(s.largest), median: money(s.median) });
  const figures: [string, string][] = [
    [t("smallest"), money(s.smallest)], at(0.1), [t("median"), money(s.median)], [t("mean"), money(Math.round(s.mean))],
    at(0.9), at(0.99), [t("largest"), money(s.largest)], [t("deviation"), money(Math.round(s.deviation))],
  ];
  return (
    <div class="cut">
      {title && <h3>{t(title, { split: `${name} · ${money(split.budget)} / ${count(split.packets)}` })}</h3>}
      <Histogram bins={s.histogram} axis={axis} label={label} kept={title === "kept"} />
      <dl>{figures.map(([term, value]) => <div key={term}><dt>{term}</dt><dd class="num">{value}</dd></div>)}</dl>
      {alike ? <p>{t("oddsEven", { amount: money(s.smallest) })}</p> : <OddsText bins={bins} />}
    </div>
  );
}

function OddsText({ bins }: { bins: readonly Bin[] }) {
  const found = [10, 100].flatMap((of) => oddsAbout(bins, of) ?? []);
  const different = found.filter((o, i) => found.findIndex((x) => x.above === o.above) === i);
  return <>{different.map((o) => <p key={o.above}>{t("odds", { of: roundOdds(o.of), above: money(o.above) })}</p>)}</>;
}
