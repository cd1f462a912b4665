import { Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Campaigns } from "./campaigns.tsx";
import { Header } from "./header.tsx";
import { lang, language, texts } from "./i18n.ts";
import { pages } from "./pages.tsx";
import { to, useRoute } from "./route.ts";
import { useStanding } from "./session.ts";
import { SignIn, SignInAgain } from "./signin.tsx";
import { StatusLine } from "./status/line.tsx";
import { frame } from "./strings/frame.ts";
import { Empty, Toasts } from "./ui/index.ts";

const t = texts(frame);

/** App is the whole page: the sign-in, or the header and what the address names. */
export function App() {
  const standing = useStanding();
  const route = useRoute();
  const [, redraw] = useState({});
  useEffect(() => language.onChange(() => redraw({})), []);
  useEffect(() => {
    document.title = t("title");
    document.documentElement.lang = lang() === "zh" ? "zh-CN" : "en";
  });
  if (standing.is === "out") {
    return (
      <>
        <Header route={route} />
        <div class="strip"><Toasts /></div>
        <SignIn />
      </>
    );
  }
  const [head = ""] = route.parts;
  const Other = pages[head];
  return (
    <>
      <a class="skip" href="#content" onClick={skip}>{t("skip")}</a>
      <Header route={route} />
      <div class="strip"><StatusLine key={standing.who.name} /><Toasts /></div>
      {/* What one person has typed is not shown to the next one who signs in. */}
      <Fragment key={standing.who.name}>
        {head === "campaigns" || head === "new" || head === "first" ? <Campaigns route={route} />
          : <main id="content" class="single" tabIndex={-1}>{Other ? <Other route={route} /> : <Lost />}</main>}
      </Fragment>
      {standing.lapsed && <SignInAgain name={standing.who.shared ? undefined : standing.who.name} />}
    </>
  );
}

function Lost() {
  return <Empty><h1>{t("notFound")}</h1><a href={to("campaigns")}>{t("toCampaigns")}</a></Empty>;
}

// The address after # is the page's; skipping must not change it.
function skip(e: Event): void {
  e.preventDefault();
  document.getElementById("content")?.focus();
}
