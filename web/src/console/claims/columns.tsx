import { CampaignLink } from "../campaign/link.tsx";
import { texts } from "../i18n.ts";
import { to } from "../route.ts";
import { claims } from "../strings/claims.ts";
import type { Claim } from "../../shared/schemas.ts";
import { numbered } from "../../shared/packet.ts";
import { Called, Money, State, Time, type Column } from "../ui/index.ts";

const t = texts(claims);

// A claim's id is that of its campaign, and of the packet.
const campaignOf = (claim: string) => claim.slice(0, claim.lastIndexOf("-"));

/** claimColumns are the columns of a list of claims; player is left out on a player's own page. */
export function claimColumns(player: boolean): Column<Claim>[] {
  const user: Column<Claim> = { key: "user", head: t("user"), cell: (c) => <a class="id" href={to("users", c.user)}>{c.user}</a> };
  return [
    { key: "packet", head: t("packet"), cell: (c) => numbered(c.packet) },
    ...(player ? [user, { key: "nickname", head: t("nickname"), cell: (c: Claim) => <Called of={c} /> }] : [{ key: "campaign", head: t("campaign"), cell: (c: Claim) => <CampaignLink id={campaignOf(c.claim)} /> }]),
    { key: "amount", head: t("amount"), num: true, cell: (c) => <Money minor={c.amount} /> },
    { key: "state", head: t("state"), cell: (c) => (c.held ? <a href={to("risk", { user: c.user })}><State of="checked" /></a> : <State of={c.state} />) },
    { key: "at", head: t("at"), cell: (c) => <Time ms={c.at} /> },
  ];
}
