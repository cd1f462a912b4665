import { useState } from "preact/hooks";
import type { TabProps } from "../campaign/tabs.ts";
import { seconds } from "../format.ts";
import { texts } from "../i18n.ts";
import { serverNow } from "../servertime.ts";
import { rains as strings } from "../strings/rains.ts";
import type { Rain } from "../../shared/schemas.ts";
import { Button, Empty, State, Table, Time, type Column } from "../ui/index.ts";
import { Fairness } from "./fairness.tsx";
import { RainFigures } from "./figures.tsx";
import { phaseAt } from "./phase.ts";

const t = texts(strings);

/** RainsTab is all rains of the campaign, the newest first. */
export function RainsTab({ campaign }: TabProps) {
  const [figures, setFigures] = useState<Rain | undefined>();
  const [proof, setProof] = useState<Rain | undefined>();
  if (campaign.rains.length === 0) return <section class="panel"><Empty><p>{t("noRains")}</p></Empty></section>;
  const columns: Column<Rain>[] = [
    { key: "phase", head: t("colPhase"), cell: (r) => <State of={phaseAt(r, campaign, serverNow())} /> },
    { key: "starts", head: t("colStarts"), cell: (r) => <Time ms={r.starts_at} /> },
    { key: "ends", head: t("colEnds"), cell: (r) => <Time ms={r.ends_at} />, hide: true },
    { key: "lasts", head: t("colLasts"), num: true, cell: (r) => t("secs", { n: seconds(r.duration_ms) }) },
    { key: "rate", head: t("colRate"), num: true, cell: (r) => r.drops_per_second },
    { key: "fall", head: t("colFall"), num: true, hide: true, cell: (r) => t("secs", { n: seconds(r.fall_ms) }) },
    { key: "decoys", head: t("colDecoys"), num: true, hide: true, cell: (r) => `${r.decoy_percent}%` },
    { key: "pacing", head: t("colPacing"), hide: true, cell: (r) => t(`pacing_${r.pacing}`) },
    { key: "figures", head: t("colFigures"), cell: (r) => <Button small disabled={r.phase === "countdown"} onClick={() => setFigures(r)}>{t("figures")}</Button> },
    { key: "proof", head: t("colFairness"), cell: (r) => <Button small onClick={() => setProof(r)}>{t("proof")}</Button> },
  ];
  return (
    <section class="panel">
      <Table cards label={t("rains")} columns={columns} rows={campaign.rains.slice().reverse()} rowKey={(r) => r.id} />
      {figures && <RainFigures campaign={campaign} rain={figures} onClose={() => setFigures(undefined)} />}
      {proof && <Fairness campaign={campaign} rain={proof} onClose={() => setProof(undefined)} />}
    </section>
  );
}
