import { useEffect, useState } from "preact/hooks";
import { CampaignPage } from "./campaign/page.tsx";
import { Side } from "./campaign/side.tsx";
import { ALL, useList } from "./campaign/uselist.ts";
import { texts } from "./i18n.ts";
import { useSettled } from "./create/settled.ts";
import { pages } from "./pages.tsx";
import { parse, to, type Route } from "./route.ts";
import { may } from "./session.ts";
import { campaign as strings } from "./strings/campaign.ts";
import { Empty } from "./ui/index.ts";

const t = texts(strings);
const WIDE = "(min-width: 901px)"; // as in campaign.css: list and campaign side by side

/** How long a person has to pause before the server is asked, in ms. */
const PAUSE = 250;

/** Campaigns is the list of campaigns with, beside it, what the address names. On a narrow screen it is one or the other. */
export function Campaigns({ route: { parts, query } }: { route: Route }) {
  const [wanted, ask] = useState(ALL);
  const text = useSettled(wanted.text.trim(), PAUSE);
  const list = useList({ ...wanted, text });
  const [head, id, tab] = parts;
  // Where there is nothing yet, the way to a first rain is the page.
  const empty = head === "campaigns" && !id && !list.loading && !list.fault && list.items.length === 0 && !text && !wanted.state && may("campaigns");
  const New = head === "new" || head === "first" ? pages[head] : empty ? pages.first : undefined;
  const chosen = head !== "campaigns" || id;
  const first = list.items[0]?.id;
  useEffect(() => {
    // Whoever has pressed a link meanwhile goes where it leads, though this page has not heard of that yet.
    const [place, more] = parse(location.hash).parts;
    const here = place === "campaigns" && !more;
    // Replaced, not added: back leaves the console instead of coming here again.
    if (here && !New && !id && first && matchMedia(WIDE).matches) location.replace(to("campaigns", first));
  }, [New, id, first]);
  return (
    <main class={`split ${chosen ? "chosen" : ""}`}>
      {!New && !id && <h1 class="unseen">{t("list")}</h1>}
      <Side list={list} chosen={id} query={wanted} ask={ask} />
      <div id="content" class="detail" tabIndex={-1}>
        {chosen && <a class="back" href={to("campaigns")}>‹ {t("list")}</a>}
        {New ? <New route={{ parts, query }} /> : id ? <CampaignPage key={id} id={id} tab={tab ?? "live"} changed={list.reload} />
          : <Empty><p>{t("choose")}</p></Empty>}
      </div>
    </main>
  );
}
