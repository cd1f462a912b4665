import { useEffect } from "preact/hooks";
import { api, seg } from "../api.ts";
import { money } from "../format.ts";
import { useLoad } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { Alarms } from "../live/alarms.tsx";
import { LiveTab } from "../live/tab.tsx";
import { useLive } from "../live/uselive.ts";
import { Controls } from "../rains/controls.tsx";
import { RainNow } from "../rains/now.tsx";
import { phaseAt } from "../rains/phase.ts";
import { RainsTab } from "../rains/tab.tsx";
import { to } from "../route.ts";
import { serverNow } from "../servertime.ts";
import { campaign as strings } from "../strings/campaign.ts";
import type { Campaign, Rain } from "../../shared/schemas.ts";
import { Empty, FaultBox, Loading, Tabs } from "../ui/index.ts";
import { DetailsTab } from "./details.tsx";
import { CampaignState, SoldOutSince } from "./soldout.tsx";
import { moreTabs, type TabProps } from "./tabs.ts";

const t = texts(strings);

export interface CampaignPageProps {
  id: string;
  tab: string;
  /** changed is called when something has changed that the list of campaigns shows. */
  changed: () => void;
}

/** CampaignPage is one campaign. Its feed lives as long as the page, whichever tab is open. */
export function CampaignPage({ id, tab, changed }: CampaignPageProps) {
  const loaded = useLoad((signal) => api<Campaign>(`/campaigns/${seg(id)}`, { signal }), [id]);
  const live = useLive(id);
  const campaign = newest(loaded.data, live.campaign, live.rain, serverNow());
  const face = campaign && `${campaign.revision} ${campaign.state}`;
  useEffect(() => {
    if (face) changed();
  }, [face]);
  if (!campaign) {
    return (
      <>
        <h1 class="unseen">{t("campaign", { id })}</h1>
        {loaded.fault ? <FaultBox fault={loaded.fault} retry={loaded.reload} /> : <Loading />}
      </>
    );
  }

  const props: TabProps = { campaign, live, reload: loaded.reload };
  const tabs = [
    { key: "live", label: t("tabLive"), page: LiveTab },
    { key: "rains", label: t("tabRains"), page: RainsTab },
    ...moreTabs.map((m) => ({ key: m.key, label: m.label(), page: m.page })),
    { key: "details", label: t("tabDetails"), page: DetailsTab },
  ];
  const Chosen = tabs.find((x) => x.key === tab)?.page;
  return (
    <article class="stack">
      <header class="head">
        <div class="title"><h1>{campaign.name}</h1><CampaignState campaign={campaign} stats={live.stats} /><SoldOutSince campaign={campaign} stats={live.stats} /></div>
        <p class="soft">{t("summary", { budget: money(campaign.budget), sponsor: campaign.sponsor, packets: campaign.packets })}
          {" · "}<a href={`/?campaign=${seg(id)}`} target="_blank" rel="noopener">{t("playerPage")}</a>
          {" · "}<a href={`/screen?campaign=${seg(id)}`} target="_blank" rel="noopener">{t("screenPage")}</a></p>
        <Controls {...props} />
      </header>
      <Alarms live={live} />
      <RainNow {...props} />
      <Tabs label={t("tabs")} chosen={tab} tabs={tabs.map((x) => ({ key: x.key, label: x.label, href: x.key === "live" ? to("campaigns", id) : to("campaigns", id, x.key) }))} />
      {Chosen ? <Chosen {...props} /> : <Empty><p>{t("noTab")}</p></Empty>}
    </article>
  );
}

/**
 * newest combines what was loaded and what the feed has brought: the campaign of the higher revision, the newest rain, and
 * the state that follows from the time.
 */
export function newest(asked: Campaign | undefined, told: Campaign | undefined, rain: Rain | undefined, now: number): Campaign | undefined {
  const c = asked && told ? (told.revision >= asked.revision ? { ...asked, ...told } : asked) : (asked ?? told);
  if (!c) return undefined;
  const rains = c.rains.map((r) => (r.id === rain?.id ? rain : r));
  const open = c.state === "ready" || c.state === "raining";
  const falls = rains.some((r) => phaseAt(r, c, now) === "falling");
  return { ...c, rains, state: open ? (falls ? "raining" : "ready") : c.state };
}
