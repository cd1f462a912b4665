// Which page stands at which address: the first part after #/.

import type { JSX } from "preact";
import { ApiPage } from "./apipage/page.tsx";
import { ApprovalsPage } from "./approvals/page.tsx";
import { AuditPage } from "./audit/page.tsx";
import { NewCampaignPage } from "./create/page.tsx";
import { FirstPage } from "./first/page.tsx";
import { ListsPage } from "./lists/page.tsx";
import { PayoutsPage } from "./payouts/page.tsx";
import { ReconciliationPage } from "./reconciliation/page.tsx";
import { RiskPage } from "./risk/page.tsx";
import type { Route } from "./route.ts";
import { SponsorsPage } from "./sponsors/page.tsx";
import { AlarmsPage } from "./status/page.tsx";
import { UsersPage } from "./users/page.tsx";
import { WithdrawalsPage } from "./withdrawals/page.tsx";

export type PageComponent = (props: { route: Route }) => JSX.Element | null;

/** pages by the first part of the address. `campaigns`, `new` and `first` are drawn beside the list of campaigns. */
export const pages: Record<string, PageComponent> = {
  new: NewCampaignPage,
  first: FirstPage,
  sponsors: SponsorsPage,
  users: UsersPage,
  lists: ListsPage,
  risk: RiskPage,
  alarms: AlarmsPage,
  payouts: PayoutsPage,
  withdrawals: WithdrawalsPage,
  approvals: ApprovalsPage,
  reconciliation: ReconciliationPage,
  audit: AuditPage,
  api: ApiPage,
};
