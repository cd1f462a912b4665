import { useEffect, useRef, useState } from "preact/hooks";
import { api, type ApiError, type Page } from "../api.ts";
import { useInterval, useLoad } from "../hooks.ts";
import type { Campaign } from "../../shared/schemas.ts";

const EVERY = 5_000; // ms between two loads of the first page
const LIMIT = 50;

/** List is the campaigns that are known so far, the newest first. */
export interface List {
  items: readonly Campaign[];
  loading: boolean;
  fault: ApiError | undefined;
  more: boolean;
  loadMore: () => void;
  reload: () => void;
}

const page = (cursor: string, signal: AbortSignal) =>
  api<Page<Campaign>>(`/campaigns?limit=${LIMIT}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`, { signal });

/** useList loads the campaigns page by page, and keeps reloading the first, where new ones appear and states change. */
export function useList(): List {
  const first = useLoad((signal) => page("", signal), []);
  const [items, setItems] = useState<readonly Campaign[]>([]);
  const [cursor, setCursor] = useState<string | undefined>(); // undefined: of the first page
  const [wanted, setWanted] = useState<string | undefined>();
  const next = useLoad(async (signal) => (wanted ? { of: wanted, page: await page(wanted, signal) } : undefined), [wanted]);
  const taken = useRef<string | undefined>(undefined);
  // It waits for a slow answer and does not ask twice.
  useInterval(() => first.loading || first.reload(), EVERY);
  useEffect(() => {
    if (!first.data) return;
    const fresh = first.data.items;
    setItems((known) => merge(fresh, known));
    if (cursor === undefined) setCursor(first.data.next_cursor ?? "");
  }, [first.data]);
  useEffect(() => {
    if (!next.data || taken.current === next.data.of) return;
    taken.current = next.data.of;
    const { items: older, next_cursor } = next.data.page;
    setItems((known) => merge(known, older));
    setCursor(next_cursor ?? "");
  }, [next.data]);
  return {
    items, more: Boolean(cursor), loading: next.loading || (first.loading && items.length === 0), fault: first.fault ?? next.fault,
    loadMore: () => (wanted === cursor ? next.reload() : setWanted(cursor)), reload: first.reload,
  };
}

/** merge joins two lists; of a campaign in both it takes that of the first. */
export function merge(before: readonly Campaign[], after: readonly Campaign[]): Campaign[] {
  const there = new Set(before.map((c) => c.id));
  return [...before, ...after.filter((c) => !there.has(c.id))];
}

/** matches tells whether a campaign has a text in its name, sponsor or id. */
export function matches(c: Campaign, text: string): boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const all = `${c.name} ${c.sponsor} ${c.id}`.toLowerCase();
  return words.every((w) => all.includes(w));
}
