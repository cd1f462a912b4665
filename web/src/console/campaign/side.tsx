import { useEffect, useRef, useState } from "preact/hooks";
import { api, seg } from "../api.ts";
import { money, percent } from "../format.ts";
import { useInterval, useLoad } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { to } from "../route.ts";
import { campaign as strings } from "../strings/campaign.ts";
import { ui } from "../strings/ui.ts";
import type { Campaign, Stats } from "../../shared/schemas.ts";
import { may } from "../session.ts";
import { first } from "../strings/first.ts";
import { Act, Button, Empty, FaultBox, Loading } from "../ui/index.ts";
import { CampaignState, SoldOutSince } from "./soldout.tsx";
import type { List, Query, Sort } from "./uselist.ts";

const t = texts(strings);
const states = texts(ui);
const f = texts(first);

const STATES = ["", "ready", "raining", "paused", "closed", "loading"] as const;
const SORTS: readonly Sort[] = ["created.desc", "created.asc", "expires.asc", "name.asc", "budget.desc"];

interface SideProps {
  list: List;
  chosen: string | undefined;
  query: Query;
  ask: (query: Query) => void;
}

// Nobody has made a campaign of their own yet: at most the server's demo is there.
const newcomer = (list: List) => !list.loading && !list.fault && !list.more && list.items.every((c) => c.sponsor === DEMO);
const DEMO = "demo";

/** Side is the list of campaigns: those that are looked for, in the order that is chosen. The server looks and sorts. */
export function Side({ list, chosen, query, ask }: SideProps) {
  const filtered = query.text.trim() !== "" || query.state !== "";
  return (
    <nav class="side" aria-label={t("list")}>
      <search class="find">
        <input type="search" value={query.text} maxLength={60} placeholder={t("filter")} aria-label={t("filter")} onInput={(e) => ask({ ...query, text: e.currentTarget.value })} />
        <Act needs="campaigns" kind="main" href={to("new")}>{t("create")}</Act>
        <select name="state" aria-label={t("state")} value={query.state} onChange={(e) => ask({ ...query, state: e.currentTarget.value })}>
          {STATES.map((s) => <option key={s} value={s} selected={s === query.state}>{s ? states(`state_${s}`) : t("anyState")}</option>)}
        </select>
        <select name="sort" aria-label={t("sort")} value={query.sort} onChange={(e) => ask({ ...query, sort: SORTS.find((s) => s === e.currentTarget.value) ?? query.sort })}>
          {SORTS.map((s) => <option key={s} value={s} selected={s === query.sort}>{t(`sort_${s}`)}</option>)}
        </select>
      </search>
      {list.fault && <FaultBox fault={list.fault} retry={list.reload} />}
      {newcomer(list) && !filtered && may("campaigns") && <a class="invite" href={to("first")}>{f("invite")}</a>}
      <ul role="list" aria-label={t("list")}>{list.items.map((c) => <Item key={c.id} campaign={c} chosen={c.id === chosen} />)}</ul>
      {list.items.length === 0 && !list.fault && (list.loading ? <Loading />
        : <Empty><p>{filtered ? t("noneMatches") : t("noCampaigns")}</p></Empty>)}
      {list.more && <div class="end"><Button busy={list.loading} onClick={list.loadMore}>{t("more")}</Button></div>}
    </nav>
  );
}

const EVERY = 5_000; // ms

function Item({ campaign: c, chosen }: { campaign: Campaign; chosen: boolean }) {
  const ref = useRef<HTMLLIElement>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const el = ref.current;
    if (!el) return;
    const watch = new IntersectionObserver((entries) => setSeen(entries.some((e) => e.isIntersecting)));
    watch.observe(el);
    return () => watch.disconnect();
  }, []);
  // The figures are loaded only for visible campaigns, and again only while they may change.
  const stats = useLoad(async (signal) => (seen ? api<Stats>(`/campaigns/${seg(c.id)}/stats`, { signal }) : undefined), [c.id, c.revision, c.state, seen]);
  useInterval(() => stats.loading || stats.reload(), seen && c.state === "raining" ? EVERY : 0);
  const known = useRef<Stats | undefined>(undefined);
  known.current = stats.data ?? known.current;
  const won = known.current?.won;
  return (
    <li ref={ref}>
      <a href={to("campaigns", c.id)} aria-current={chosen ? "true" : undefined}>
        <span class="name"><span>{c.name}</span><CampaignState campaign={c} stats={known.current} /></span>
        <span class="soft under"><span>{c.sponsor}</span><span class="num">{money(c.budget)}</span></span>
        <span class="under">
          <span class="meter" aria-hidden="true"><i style={{ width: won === undefined ? "0" : percent(won, c.packets) }} /></span>
          <SoldOutSince campaign={c} stats={known.current} />
          <span class="soft num">{won === undefined ? "–" : percent(won, c.packets)}<span class="unseen"> {t("wonPart")}</span></span>
        </span>
      </a>
    </li>
  );
}
