import { texts } from "../i18n.ts";
import { to } from "../route.ts";
import { claims } from "../strings/claims.ts";
import type { Claim } from "../../shared/schemas.ts";
import { Money, State, Time, type Column } from "../ui/index.ts";

const t = texts(claims);

/** claimColumns are the columns of a list of claims; player is left out on a player's own page. */
export function claimColumns(player: boolean): Column<Claim>[] {
  const user: Column<Claim> = { key: "user", head: t("user"), cell: (c) => <a class="id" href={to("users", c.user)}>{c.user}</a> };
  return [
    { key: "packet", head: t("packet"), cell: (c) => c.packet },
    ...(player ? [user] : [{ key: "claim", head: t("claim"), hide: true, cell: (c: Claim) => <span class="mono">{c.claim}</span> }]),
    { key: "amount", head: t("amount"), num: true, cell: (c) => <Money minor={c.amount} /> },
    { key: "state", head: t("state"), cell: (c) => <State of={c.state} /> },
    { key: "at", head: t("at"), cell: (c) => <Time ms={c.at} /> },
  ];
}
