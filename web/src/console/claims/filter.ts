/** Filter holds the conditions of a list of claims. Empty ones are ignored; the others match exactly. */
export interface Filter {
  user: string;
  packet: string;
  state: string;
}

/** claimsPath returns the path of a campaign's claims. Without a cursor it is the first page, or all of them for a CSV. */
export function claimsPath(campaign: string, filter: Filter, cursor?: string): string {
  const query = new URLSearchParams(Object.entries({ ...filter, cursor: cursor ?? "" }).filter(([, value]) => value !== "")).toString();
  return `/campaigns/${encodeURIComponent(campaign)}/claims${query && `?${query}`}`;
}
