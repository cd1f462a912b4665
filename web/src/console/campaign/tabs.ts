// The tabs of a campaign beside Live, Rains and Details.

import type { JSX } from "preact";
import { Claims } from "../claims/list.tsx";
import { texts } from "../i18n.ts";
import type { Live } from "../live/uselive.ts";
import { CampaignBooks } from "../reconciliation/campaign.tsx";
import { books } from "../strings/books.ts";
import { claims } from "../strings/claims.ts";
import type { Campaign } from "../../shared/schemas.ts";

/** TabProps are the props of each tab of a campaign. */
export interface TabProps {
  campaign: Campaign;
  live: Live;
  /** reload loads the campaign again after a change. */
  reload: () => void;
}

export interface CampaignTab {
  /** key is the third part of the address: #/campaigns/ID/claims. */
  key: string;
  label: () => string;
  page: (props: TabProps) => JSX.Element | null;
}

const c = texts(claims);
const b = texts(books);

export const moreTabs: readonly CampaignTab[] = [
  { key: "claims", label: () => c("title"), page: Claims },
  { key: "reconciliation", label: () => b("title"), page: CampaignBooks },
];
