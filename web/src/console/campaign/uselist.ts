import { useEffect, useRef, useState } from "preact/hooks";
import { api, type ApiError, type Page } from "../api.ts";
import { useInterval, useLoad } from "../hooks.ts";
import type { Campaign } from "../../shared/schemas.ts";

const EVERY = 5_000; // ms between two loads of the first page
const LIMIT = 50;

/** Sort is an order of the list: the field and the direction. */
export type Sort = "created.desc" | "created.asc" | "expires.asc" | "name.asc" | "budget.desc";

/** Query is a filter and an order of campaigns. */
export interface Query {
  text: string;
  state: string;
  sort: Sort;
}

/** ALL is every campaign, the newest first. */
export const ALL: Query = { text: "", state: "", sort: "created.desc" };

/** List is the loaded campaigns of a query, in its order. */
export interface List {
  items: readonly Campaign[];
  loading: boolean;
  fault: ApiError | undefined;
  more: boolean;
  loadMore: () => void;
  reload: () => void;
}

/** listPath is the path of a page of a query. */
export function listPath({ text, state, sort }: Query, cursor: string): string {
  const [by = "", order = ""] = sort.split(".");
  const query = new URLSearchParams({ limit: String(LIMIT), ...(text && { q: text }), ...(state && { state }), ...(sort !== ALL.sort && { sort: by, order }), ...(cursor && { cursor }) });
  return `/campaigns?${query}`;
}

/** Known holds the loaded items of a query, of all pages, and the cursor of the next page. */
interface Known {
  of: string;
  items: readonly Campaign[];
  later: readonly Campaign[];
  cursor: string;
}

/** useList loads the campaigns of a query page by page, and keeps reloading the first, where new ones appear and states change. */
export function useList(query: Query): List {
  const of = JSON.stringify(query);
  const page = (cursor: string, signal: AbortSignal) => api<Page<Campaign>>(listPath(query, cursor), { signal });
  const first = useLoad((signal) => page("", signal), [of]);
  const [known, setKnown] = useState<Known | undefined>();
  const [wanted, want] = useState<{ of: string; cursor: string } | undefined>();
  const asked = wanted?.of === of ? wanted.cursor : "";
  const next = useLoad(async (signal) => (asked ? { of, cursor: asked, page: await page(asked, signal) } : undefined), [of, asked]);
  const taken = useRef("");
  // It waits for a slow answer and does not ask twice.
  useInterval(() => first.loading || first.reload(), EVERY);
  useEffect(() => {
    if (!first.data) return;
    const { items: fresh, next_cursor: cursor = "" } = first.data;
    setKnown((k) => {
      if (k?.of !== of) return { of, items: fresh, later: [], cursor };
      // Only states change: with a filter by state, campaigns that have left it are dropped.
      return { ...k, items: merge(fresh, query.state ? k.later : k.items), ...(k.later.length === 0 && { cursor }) };
    });
  }, [first.data]);
  useEffect(() => {
    if (!next.data || taken.current === next.data.of + next.data.cursor) return;
    taken.current = next.data.of + next.data.cursor;
    const { items: later, next_cursor: cursor = "" } = next.data.page;
    setKnown((k) => (k?.of === of ? { of, items: merge(k.items, later), later: merge(k.later, later), cursor } : k));
  }, [next.data]);
  const mine = known?.of === of ? known : undefined;
  const items = mine?.items ?? [];
  return {
    items, more: Boolean(mine?.cursor), loading: next.loading || (first.loading && !mine), fault: first.fault ?? next.fault,
    loadMore: () => mine && (asked === mine.cursor ? next.reload() : want({ of, cursor: mine.cursor })), reload: first.reload,
  };
}

/** merge joins two lists. If a campaign is in both, it takes the first list's. */
export function merge(before: readonly Campaign[], after: readonly Campaign[]): Campaign[] {
  const there = new Set(before.map((c) => c.id));
  return [...before, ...after.filter((c) => !there.has(c.id))];
}
