import packet from "../../img/packet.svg";
import { usePending } from "./approvals/pending.ts";
import { count } from "./format.ts";
import { useSeen } from "./hooks.ts";
import { language, texts } from "./i18n.ts";
import { useHeld } from "./risk/count.ts";
import { to, type Route } from "./route.ts";
import { leave, mayAct, useStanding, type Who } from "./session.ts";
import { approvals } from "./strings/approvals.ts";
import { frame } from "./strings/frame.ts";
import { people } from "./strings/people.ts";
import { risk } from "./strings/risk.ts";
import { Badge, Button } from "./ui/index.ts";

const t = texts(frame);
const p = texts(people);
const a = texts(approvals);
const r = texts(risk);

const LINKS = [
  ["campaigns", "campaigns"], ["sponsors", "sponsors"], ["payouts", "payouts"], ["withdrawals", "withdrawals"], ["users", "players"], ["lists", "lists"], ["risk", "risk"], ["approvals", "approvals"],
  ["reconciliation", "reconciliation"], ["audit", "audit"], ["api", "apipage"],
] as const;

/** Header is the top of every page: where one is, who one is, the language. */
export function Header({ route }: { route: Route }) {
  const standing = useStanding();
  const here = route.parts[0] === "new" || route.parts[0] === "first" ? "campaigns" : route.parts[0];
  const who = standing.is === "in" ? standing.who : undefined;
  const row = useSeen(who && here);
  return (
    <header class="bar">
      <a class="brand" href={to("campaigns")}><img src={packet} alt="" width="18" height="23" /><span>redrain <span class="thin">{t("console")}</span></span></a>
      {who && (
        <nav ref={row} class="pages" aria-label={t("nav")}>
          {LINKS.map(([path, key]) => <a key={path} href={to(path)} aria-current={path === here ? "page" : undefined}>{t(key)}{path === "approvals" && <Pending />}{path === "risk" && <Held />}</a>)}
        </nav>
      )}
      <div class="me">
        {who && <Person who={who} />}
        {who && !mayAct() && <span title={t("viewerHint")}><Badge tone="warn">{t("viewer")}<span class="unseen">: {t("viewerHint")}</span></Badge></span>}
        {who?.in_process && <span class="inprocess" title={t("inProcessHint")}><Badge>{t("inProcess")}</Badge></span>}
        <Button kind="plain" onClick={() => language.change()}><span lang={language.lang === "zh" ? "en" : "zh-CN"}>{t("otherLanguage")}</span></Button>
        {who && <Button kind="plain" onClick={() => leave()}>{t("signOut")}</Button>}
      </div>
    </header>
  );
}

/** Pending is how many orders wait for a second person. */
function Pending() {
  const n = usePending();
  return n === "" ? null : <> <span class="count"><span aria-hidden="true">{n}</span><span class="unseen">{a("waiting", { n })}</span></span></>;
}

/** Held is how many wins wait for a person. */
function Held() {
  const n = useHeld()?.wins ?? 0;
  return n === 0 ? null : <> <span class="count"><span aria-hidden="true">{count(n)}</span><span class="unseen">{r("waitingShort", { n })}</span></span></>;
}

/** Person is the name of who is signed in, and what they are. */
function Person({ who }: { who: Who }) {
  if (!who.name) return null; // an older server names nobody
  if (who.shared) return mayAct() ? <span class="person" title={p("sharedHint")}>{p("shared")}<span class="unseen">: {p("sharedHint")}</span></span> : null;
  const roles = who.role.split(",").map(roleName).join(", ");
  return (
    <span class="person" title={`${who.name} · ${roles}`}>
      <span class="unseen">{p("signedInAs")} </span><b>{who.name}</b> <span class="role">{roles}</span>
    </span>
  );
}

function roleName(role: string): string {
  const key = `role_${role}`;
  return p.has(key) ? p(key) : role;
}
