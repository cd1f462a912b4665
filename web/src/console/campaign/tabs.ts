// The tabs of a campaign beside Live, Rains and Details.

import type { JSX } from "preact";
import type { Live } from "../live/uselive.ts";
import type { Campaign } from "../types.ts";

/** TabProps is what each tab of a campaign gets. */
export interface TabProps {
  campaign: Campaign;
  live: Live;
  /** reload asks for the campaign again, after something was done to it. */
  reload: () => void;
}

export interface CampaignTab {
  /** key is the third part of the address: #/campaigns/ID/claims. */
  key: string;
  label: () => string;
  page: (props: TabProps) => JSX.Element | null;
}

export const moreTabs: readonly CampaignTab[] = [];
