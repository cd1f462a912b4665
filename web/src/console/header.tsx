import packet from "../../img/packet.svg";
import { language, texts } from "./i18n.ts";
import { to, type Route } from "./route.ts";
import { leave, useStanding } from "./session.ts";
import { frame } from "./strings/frame.ts";
import { Badge, Button } from "./ui/index.ts";

const t = texts(frame);

const LINKS = [
  ["campaigns", "campaigns"], ["sponsors", "sponsors"], ["payouts", "payouts"], ["withdrawals", "withdrawals"],
  ["reconciliation", "reconciliation"], ["audit", "audit"], ["api", "apipage"],
] as const;

/** Header is the top of every page: where one is, who one is, the language. */
export function Header({ route }: { route: Route }) {
  const standing = useStanding();
  const here = route.parts[0] === "new" ? "campaigns" : route.parts[0];
  const who = standing.is === "in" ? standing.who : undefined;
  return (
    <header class="bar">
      <a class="brand" href={to("campaigns")}><img src={packet} alt="" width="18" height="23" /><span>redrain <span class="thin">{t("console")}</span></span></a>
      {who && (
        <nav class="pages" aria-label={t("nav")}>
          {LINKS.map(([path, key]) => <a key={path} href={to(path)} aria-current={path === here ? "page" : undefined}>{t(key)}</a>)}
        </nav>
      )}
      <div class="me">
        {who?.role === "viewer" && <span title={t("viewerHint")}><Badge tone="warn">{t("viewer")}<span class="unseen">: {t("viewerHint")}</span></Badge></span>}
        {who?.in_process && <span class="inprocess" title={t("inProcessHint")}><Badge>{t("inProcess")}</Badge></span>}
        <Button kind="plain" onClick={() => language.change()}><span lang={language.lang === "zh" ? "en" : "zh-CN"}>{t("otherLanguage")}</span></Button>
        {who && <Button kind="plain" onClick={() => leave()}>{t("signOut")}</Button>}
      </div>
    </header>
  );
}
