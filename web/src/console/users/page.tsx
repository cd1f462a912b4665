import "../claims/claims.css";

import { api, seg, type Page } from "../api.ts";
import { claimColumns } from "../claims/columns.tsx";
import { useLoad, usePages } from "../hooks.ts";
import { texts } from "../i18n.ts";
import type { Route } from "../route.ts";
import { claims } from "../strings/claims.ts";
import type { Balance, Claim } from "../../shared/schemas.ts";
import { FaultBox, Money, PagedTable } from "../ui/index.ts";
import { WithdrawalList } from "../withdrawals/list.tsx";

const t = texts(claims);

/** UserPage is what a player has, has won and has taken out: #/users/ID. */
export function UserPage({ route }: { route: Route }) {
  const user = route.parts[1] ?? "";
  return <User key={user} user={user} />;
}

function User({ user }: { user: string }) {
  const balance = useLoad((signal) => api<Balance>(`/users/${seg(user)}`, { signal }), [user]);
  const won = usePages<Claim>((cursor, signal) => api<Page<Claim>>(`/users/${seg(user)}/claims?limit=50${cursor && `&cursor=${seg(cursor)}`}`, { signal }), [user]);
  return (
    <div class="stack">
      <section class="panel">
        <h1>{t("userTitle", { user })}</h1>
        {balance.fault ? <FaultBox fault={balance.fault} retry={balance.reload} />
          : <p class="balance"><span class="soft">{t("balance")}</span> <strong><Money minor={balance.data?.balance} /></strong></p>}
      </section>
      <section class="panel">
        <header><h2>{t("userClaims")}</h2></header>
        <PagedTable label={t("userClaims")} columns={claimColumns(false)} pages={won} rowKey={(c) => c.claim}
          empty={<><h3>{t("userNone")}</h3><p>{t("userNoneText")}</p></>} />
      </section>
      <section class="panel">
        <header><h2>{t("userWithdrawals")}</h2></header>
        <WithdrawalList path={`/users/${seg(user)}/withdrawals`} player={false} />
      </section>
    </div>
  );
}
