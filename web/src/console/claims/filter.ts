/** Filter is what a list of claims is searched for; empty ones do not count. They match as a whole. */
export interface Filter {
  user: string;
  packet: string;
  state: string;
}

/** claimsPath is where the claims of a campaign are. Without a cursor it is the first page, or all of them for a CSV. */
export function claimsPath(campaign: string, filter: Filter, cursor?: string): string {
  const query = new URLSearchParams(Object.entries({ ...filter, cursor: cursor ?? "" }).filter(([, value]) => value !== "")).toString();
  return `/campaigns/${encodeURIComponent(campaign)}/claims${query && `?${query}`}`;
}
