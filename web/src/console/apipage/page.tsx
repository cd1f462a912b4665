import "./apipage.css";

import { useState } from "preact/hooks";
import { api, type Page } from "../api.ts";
import { useLoad } from "../hooks.ts";
import { texts } from "../i18n.ts";
import type { Route } from "../route.ts";
import { apipage } from "../strings/apipage.ts";
import type { Campaign } from "../../shared/schemas.ts";
import { Copy, FaultBox, Loading, SelectField } from "../ui/index.ts";
import { curl } from "./curl.ts";
import { groups } from "./tasks.ts";

const t = texts(apipage);

const LINKS = [
  ["/docs", "reference"], ["/docs/openapi.yaml", "openapi"], ["/docs/asyncapi.yaml", "asyncapi"], ["/sdk/redrain.js", "sdk"], ["/metrics", "metrics"],
] as const;

const ASK_TOKEN = "read -rs TOKEN && export TOKEN";

/** ApiPage is the way from the console to a script: commands for this server and a campaign, without the token in them. */
export function ApiPage({ route }: { route: Route }) {
  const list = useLoad((signal) => api<Page<Campaign>>("/campaigns?limit=100", { signal }), []);
  const [chosen, choose] = useState(route.query.get("campaign") ?? "");
  const campaigns = list.data?.items ?? [];
  const campaign = campaigns.find((c) => c.id === chosen) ?? campaigns[0] ?? null;
  return (
    <div class="stack apipage">
      <section class="panel">
        <header><div><h1>{t("title")}</h1><p class="soft">{t("lead")}</p></div></header>
        {list.fault && <FaultBox fault={list.fault} retry={list.reload} />}
        {campaign ? (
          <SelectField name="campaign" label={t("campaign")} value={campaign.id} onChange={choose}
            options={campaigns.map((c) => ({ value: c.id, label: `${c.name} (${c.id})` }))} />
        ) : list.data && <p class="soft">{t("noCampaign")}</p>}
        <h2>{t("docs")}</h2>
        <ul class="links" aria-label={t("docs")}>{LINKS.map(([href, key]) => <li key={href}><a href={href}>{t(key)}</a> <span class="mono soft">{href}</span></li>)}</ul>
        <h2>{t("token")}</h2>
        <Command text={ASK_TOKEN} label={t("token")} />
        <p class="soft small">{t("tokenNote")}</p>
      </section>
      {!list.data && !list.fault && <section class="panel"><Loading /></section>}
      {/* Not before it is known which campaign: a command that is copied too early would be for none. */}
      {(list.data || list.fault) && groups(campaign).map((g) => (
        <section class="panel" key={g.key}>
          <header><h2>{t(g.key)}</h2></header>
          {g.tasks.map((task) => (
            <div class="task" key={task.key}>
              <h3>{t(task.key)}</h3>
              <Command text={curl(location.origin, task.call)} label={t(task.key)} />
            </div>
          ))}
        </section>
      ))}
    </div>
  );
}

function Command({ text, label }: { text: string; label: string }) {
  return (
    <div class="snippet">
      <pre tabIndex={0} role="region" aria-label={label}>{text}</pre>
      <Copy text={text} label={t("copy", { what: label })} />
    </div>
  );
}
