import { useState } from "preact/hooks";
import type { TabProps } from "../campaign/tabs.ts";
import { clock, moment } from "../format.ts";
import { useInterval } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { serverNow, toLocal } from "../servertime.ts";
import { rains as strings } from "../strings/rains.ts";
import { State } from "../ui/index.ts";
import { activeRain, left, phaseAt } from "./phase.ts";

const t = texts(strings);

/** RainNow is the rain that is scheduled or falls: what it does, and for how long still. */
export function RainNow({ campaign }: TabProps) {
  const [, tick] = useState({});
  const now = serverNow();
  const rain = activeRain(campaign, now);
  useInterval(() => tick({}), rain ? 250 : 0);
  if (!rain) return null;
  const phase = phaseAt(rain, campaign, now);
  const [from, until] = now < rain.starts_at ? [now, rain.starts_at] : [rain.starts_at, rain.ends_at];
  const starts = toLocal(rain.starts_at);
  const words = phase === "countdown" ? t("nowCountdown", { left: left(until - now), at: moment(starts) })
    : t(phase === "paused" ? "nowPaused" : "nowFalling", { left: left(until - now), at: clock(toLocal(rain.ends_at)) });
  return (
    <section class={`rainnow ${phase}`} aria-label={t("rainNow")}>
      <State of={phase} />
      <span class="num">{words}</span>
      {phase !== "countdown" && <span class="meter" aria-hidden="true"><i style={{ width: `${(100 * (now - from)) / (until - from)}%` }} /></span>}
    </section>
  );
}
