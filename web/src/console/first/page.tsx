import "./first.css";

import { waits } from "../approvals/said.ts";
import { ApiError, api, post, seg } from "../api.ts";
import { useHome } from "../campaign/home.ts";
import { JoinCode } from "../campaign/joincode.tsx";
import { clock, money } from "../format.ts";
import { useAction, useLoad } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { go, to, type Route } from "../route.ts";
import { toLocal } from "../servertime.ts";
import { may, useStanding } from "../session.ts";
import { first } from "../strings/first.ts";
import type { Approval, Campaign, Rain, Sponsor } from "../../shared/schemas.ts";
import { Button, Copy, FaultText, toast, unsure } from "../ui/index.ts";
import { RAIN, TRIAL } from "./trial.ts";

const t = texts(first);

/** FirstPage leads a newcomer to a first rain: #/first, and #/first/ID once its campaign is made. */
export function FirstPage({ route }: { route: Route }) {
  return <FirstRain id={route.parts[1]} />;
}

function FirstRain({ id }: { id: string | undefined }) {
  const standing = useStanding();
  const who = standing.is === "in" ? standing.who : undefined;
  const campaign = useLoad(async (signal) => (id ? api<Campaign>(`/campaigns/${seg(id)}`, { signal }) : undefined), [id]).data;
  const make = useAction(async (key) => {
    const funded = await post<Sponsor | Approval>(`/sponsors/${seg(TRIAL.sponsor)}/deposits`, { amount: TRIAL.budget, reference: `first-rain-${key}` }, `${key}-deposit`);
    if (waits(funded)) throw new ApiError({ code: "waits", message: t("waits"), status: 202 });
    const made = await post<Campaign>("/campaigns", { ...TRIAL, name: t("name") }, key);
    go("first", made.id);
  });
  const start = useAction(async (key) => {
    const started = await post<Rain>(`/campaigns/${seg(id ?? "")}/rains`, RAIN, key);
    toast(t("started", { at: clock(toLocal(started.starts_at)) }));
    go("campaigns", id ?? "");
  });
  const able = may("deposits") && may("campaigns");
  const path = `/?campaign=${seg(id ?? "")}`;
  const address = new URL(path, useHome()).href;
  return (
    <section class="panel first">
      <header><div><h1>{t("title")}</h1><p class="soft">{t("lead")}</p></div></header>
      <ol aria-label={t("title")}>
        <li class={id ? "past" : ""}>
          <h2>{t("make")}</h2>
          {id ? <p>✓ {campaign && t("made", { name: campaign.name })}</p> : (
            <>
              <p>{t("makeText", { sponsor: TRIAL.sponsor, budget: money(TRIAL.budget), packets: TRIAL.packets, wins: TRIAL.wins_per_user })}</p>
              <p class="soft">{t(who?.in_process ? "makeTrial" : "makeReal")}</p>
              {able ? <Button kind="main" busy={make.busy} onClick={() => void make.run()}>{t("makeDo")}</Button> : <p>{t("needs")}</p>}
              <FaultText fault={make.fault} explain={unsure} />
            </>
          )}
        </li>
        <li class={id ? "" : "later"}>
          <h2>{t("play")}</h2>
          <p>{t("playText")}</p>
          {who?.guests === false && <p class="soft">{t("noGuests")}</p>}
          {id && <p class="row"><a class="button main" href={path} target="_blank" rel="noopener">{t("playDo")}</a><span class="mono">{address}</span><Copy text={address} label={t("copy")} /></p>}
          {id && <JoinCode address={address} />}
        </li>
        <li class={id ? "" : "later"}>
          <h2>{t("rain")}</h2>
          <p>{t("rainText", { wait: RAIN.starts_in_ms / 1_000, length: RAIN.duration_ms / 1_000 })}</p>
          {id && able && <Button kind="main" busy={start.busy} onClick={() => void start.run()}>{t("rainDo")}</Button>}
          <FaultText fault={start.fault} explain={unsure} />
        </li>
      </ol>
      {id && <p class="row">{t("then")} <a href={to("new")}>{t("own")}</a> · <a href={`/screen?campaign=${seg(id)}`} target="_blank" rel="noopener">{t("wall")}</a></p>}
    </section>
  );
}
