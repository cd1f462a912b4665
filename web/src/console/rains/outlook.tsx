import { count, money, roughly } from "../format.ts";
import { texts } from "../i18n.ts";
import { to } from "../route.ts";
import { rains as strings } from "../strings/rains.ts";
import type { Campaign, Stats } from "../../shared/schemas.ts";
import { Button } from "../ui/index.ts";
import { forecast, remedies } from "./forecast.ts";
import type { RainBody, RainForm } from "./limits.ts";

const t = texts(strings);

interface OutlookProps {
  campaign: Campaign;
  stats: Stats;
  rain: RainBody;
  /** change changes the form. */
  change: (part: Partial<RainForm>) => void;
}

/** Outlook is the money that a rain can hand out to the connected players. If some would stay, it offers to change that. */
export function Outlook({ campaign: c, stats, rain, change }: OutlookProps) {
  const f = forecast(c, stats, rain);
  if (f.stock === 0) return <p class="short">{t("forecastEmpty")}</p>;
  if (f.each === 0) return <p class="short">{t("forecastZero")}</p>;
  const values = { ...f, each: f.each % 1 === 0 ? f.each : f.each.toFixed(1), left: roughly(f.left) };
  const enough = f.most === f.stock;
  const fixed = f.players > 0 && !enough && (f.limit === "wins_per_user" || f.limit === "taps_per_user") && f.limit;
  return (
    <>
      <p class="soft">{t("previewMoney", { left: money(stats.amount_left), packets: stats.stock })}</p>
      {f.players === 0 ? <p>{t("forecastNone", values)}</p>
        : enough ? <p>{t("forecastAll", values)}</p>
        : <p class="short">{t(f.limit === "draws" && rain.odds !== "auto" ? "forecastDraws" : "forecast", values)}</p>}
      <p class="row">
        {remedies(c, f, rain).map((r) => <Button key={r.key} small onClick={() => change(r.form)}>{t(`remedy_${r.key}`, { n: r.n })}</Button>)}
      </p>
      {fixed && <p class="soft">{t(`fixed_${fixed}`, { n: c[fixed] })} <a href={to("new", { from: c.id, [fixed]: String(f.wanted) })}>{t(`copy_${fixed}`, { n: count(f.wanted) })}</a></p>}
    </>
  );
}
