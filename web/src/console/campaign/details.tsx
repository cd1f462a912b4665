import type { ComponentChildren } from "preact";
import { COUNT_FIELDS } from "../create/limits.ts";
import { count, money } from "../format.ts";
import { texts } from "../i18n.ts";
import { to } from "../route.ts";
import { campaign as strings } from "../strings/campaign.ts";
import { counts } from "../strings/create.ts";
import { Act, Copy, Time } from "../ui/index.ts";
import { useHome } from "./home.ts";
import { JoinCode } from "./joincode.tsx";
import type { TabProps } from "./tabs.ts";

const t = texts(strings);
const label = texts(counts);

/** DetailsTab is how the campaign was made, and where its pages are. */
export function DetailsTab({ campaign: c }: TabProps) {
  const split = `split_${c.split}`;
  const rows: [string, ComponentChildren][] = [
    [t("id"), <><span class="mono">{c.id}</span><Copy text={c.id} label={t("copyId")} /></>],
    [t("sponsor"), c.sponsor],
    [t("budget"), money(c.budget)],
    [t("packets"), count(c.packets)],
    [t("split"), t.has(split) ? t(split) : c.split],
    [t("perPacket"), t("fromTo", { min: money(c.min), max: c.max == null ? t("noMax") : money(c.max) })],
    ...COUNT_FIELDS.map((field): [string, string] => [label(field), c[field] > 0 ? count(c[field]) : t(field === "admit_per_second" ? "allAtOnce" : "noLimit")]),
    [t("players"), c.players == null ? t("everybody") : <a href={to("lists", c.players.list)}>{c.players.list}</a>],
    [t("guestsShare"), c.guests_share == null ? t("oneStock") : t("ofPackets", { share: Math.round(c.guests_share * 1e6) / 1e4 })],
    [t("createdAt"), <Time ms={c.created_at} />],
    [t("expiresAt"), <Time ms={c.expires_at} />],
    [t("revision"), count(c.revision)],
  ];
  const home = useHome();
  return (
    <div class="stack">
      <section class="panel">
        <header><h2>{t("pages")}</h2></header>
        <dl class="details">
          <Address label={t("playerPage")} home={home} path={`/?campaign=${encodeURIComponent(c.id)}`} code />
          <Address label={t("screenPage")} home={home} path={`/screen?campaign=${encodeURIComponent(c.id)}`} />
        </dl>
      </section>
      <section class="panel">
        <header>
          <h2>{t("howMade")}</h2>
          <Act needs="campaigns" href={to("new", { from: c.id })}>{t("clone")}</Act>
        </header>
        <dl class="details">{rows.map(([label, value]) => <div key={label}><dt>{label}</dt><dd>{value}</dd></div>)}</dl>
      </section>
    </div>
  );
}

function Address({ label, home, path, code = false }: { label: string; home: string; path: string; code?: boolean }) {
  const address = new URL(path, home).href;
  return (
    <div><dt>{label}</dt><dd><a href={path} target="_blank" rel="noopener" class="mono">{address}</a><Copy text={address} label={t("copyAddress", { label })} />{code && <JoinCode address={address} />}</dd></div>
  );
}
