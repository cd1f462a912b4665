import "./status.css";

import { api } from "../api.ts";
import { useInterval, useLoad } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { to } from "../route.ts";
import { status } from "../strings/status.ts";
import { zone } from "../format.ts";
import type { OpenAlarm, Proved } from "../../shared/schemas.ts";
import { Time } from "../ui/index.ts";

const t = texts(status);
const EVERY = 15_000; // ms

/** useAlarms is the alarms that are open. */
export function useAlarms() {
  const load = useLoad((signal) => api<{ items: OpenAlarm[] }>("/alarms", { signal }), []);
  useInterval(() => load.loading || load.reload(), EVERY);
  return load;
}

/** StatusLine stands under the head of every page: the last proof of the books, open alarms, the time zone. */
export function StatusLine() {
  const proved = useLoad((signal) => api<Proved | null>("/reconciliation/proved", { signal }), []);
  useInterval(() => proved.loading || proved.reload(), EVERY);
  const alarms = useAlarms().data?.items.length;
  return (
    <aside class="status" aria-label={t("label")}>
      {proved.fault && proved.data !== undefined && <span class="bad">{t("silent")}</span>}
      {proved.data !== undefined && <a href={to("reconciliation")} class={proved.data && (proved.data.stale || wrong(proved.data)) ? "bad" : ""}><Proof of={proved.data} /></a>}
      {alarms !== undefined && <a href={to("alarms")} class={alarms > 0 ? "bad" : ""}>{alarms > 0 ? `⚠ ${t("alarms", { n: alarms })}` : t("noAlarms")}</a>}
      <span class="zone">{t("zone", { zone: zone(Date.now()) })}</span>
    </aside>
  );
}

// Where everything balances as a whole, one campaign may still not. One that was never proved took no time.
const wrong = (p: Proved) => (p.everything.proved_at > 0 && !p.everything.balanced) || p.campaigns.some((c) => !c.balanced && c.took_ms > 0);

// Until everything has been proved for the first time, it is said of the live campaigns, once each of them was.
function Proof({ of: p }: { of: Proved | null }) {
  const bad = p && wrong(p);
  const all = p?.everything.proved_at;
  if (!p || !(bad || all || (p.oldest > 0 && p.campaigns.every((c) => c.balanced)))) return <>{t("never")}</>;
  const at = all || p.oldest;
  return <>{bad ? "✗" : "✓"} {t(bad ? "wrong" : all ? "proved" : "provedLive")} {at > 0 && <Time ms={at} />}{p.stale && ` ${t("stale")}`}</>;
}
