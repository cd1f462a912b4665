import { useState } from "preact/hooks";
import { useInterval } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { live as strings } from "../strings/live.ts";
import { STALE, type Live } from "./uselive.ts";

const t = texts(strings);

/** Age says how old the figures are; where they are too old, in red and with what the page does about it. */
export function Age({ live }: { live: Live }) {
  const [, tick] = useState({});
  useInterval(() => tick({}), 250);
  const age = live.heard === undefined ? undefined : performance.now() - live.heard;
  const stale = age === undefined ? live.feed === "lost" || live.feed === "refused" : age > STALE;
  const doing = live.feed === "refused" ? t("refused") : live.feed === "live" ? (stale ? t("silent") : "") : t("reconnecting");
  return (
    <p class={`age ${stale ? "stale" : age === undefined ? "none" : "fresh"}`} data-stat="age">
      <i class="dot" aria-hidden="true" />
      <span>{age === undefined ? t("noFigures") : t("ago", { s: (age / 1_000).toFixed(age < 9_950 ? 1 : 0) })}</span>
      {/* Only the change is read aloud, not each tenth of a second. */}
      <b role="status">{stale ? doing : ""}</b>
    </p>
  );
}
