import { useEffect, useRef, useState } from "preact/hooks";
import { api, apiResponse, seg } from "../api.ts";
import { correct, serverNow } from "../servertime.ts";
import type { Alarm, Campaign, History, Rain, Stats } from "../../shared/schemas.ts";
import { Feed, type FeedState } from "./feed.ts";
import { pastOf } from "./past.ts";
import { Rates } from "./rates.ts";
import { Ring, SPAN, type Row } from "./ring.ts";
import type { ServerEvent } from "./sse.ts";

/** STALE is the time without figures, in ms, after which they are shown as old. */
export const STALE = 3_000;
const SILENCE = 10_000; // ms; the server sends the figures each second
const KEPT = 6; // campaigns whose rings are kept for a return

/** Live holds the data of a campaign's feed so far. */
export interface Live {
  feed: FeedState;
  stats: Stats | undefined;
  /** heard is performance.now() at the newest figures; undefined before the first. */
  heard: number | undefined;
  /** campaign and rain are the newest ones from the feed. */
  campaign: Campaign | undefined;
  rain: Rain | undefined;
  alarms: readonly (Alarm & { id: number; at: number })[];
  ring: Ring;
  dismiss: (alarm: number) => void;
}

const rings = new Map<string, Ring>();
let alarmNumber = 0;

function ringOf(campaign: string): Ring {
  const ring = rings.get(campaign) ?? new Ring();
  rings.delete(campaign); // inserted again as the newest
  rings.set(campaign, ring);
  for (const old of rings.keys()) {
    if (rings.size <= KEPT) break;
    rings.delete(old);
  }
  return ring;
}

/** seconds is a time for the charts. It neither jumps nor goes back when this computer's clock is set. */
export function seconds(): number {
  return (performance.timeOrigin + performance.now()) / 1_000;
}

type Told = Omit<Live, "dismiss"> & { rates: Rates };

/** useLive listens to a campaign for as long as the component is there. */
export function useLive(id: string): Live {
  const [, redraw] = useState({});
  const told = useRef<{ id: string; live: Told } | null>(null);
  if (told.current?.id !== id) told.current = { id, live: blank(id) };
  const change = (part: Partial<Told>) => {
    if (told.current?.id !== id) return;
    told.current.live = { ...told.current.live, ...part };
    redraw({});
  };
  useEffect(() => {
    const feed = new Feed({
      open: (signal) => apiResponse(`/events?campaign=${seg(id)}`, { accept: "text/event-stream", signal }),
      state: (state) => change({ feed: state }),
      event: (e) => told.current?.id === id && change(take(id, told.current.live, e)),
      silence: SILENCE,
    });
    const past = new AbortController();
    const live = told.current?.live;
    api<History>(`/campaigns/${seg(id)}/history?from=${Math.floor(serverNow() - SPAN * 1_000)}`, { signal: past.signal }).then(
      (h) => live?.ring.before(pastOf(h, seconds() * 1_000 - serverNow())),
      () => {}, // the charts begin with this moment
    );
    return () => {
      past.abort();
      feed.close();
    };
  }, [id]);
  return { ...told.current.live, dismiss: (alarm) => change({ alarms: told.current?.live.alarms.filter((a) => a.id !== alarm) ?? [] }) };
}

function blank(id: string): Told {
  return { feed: "connecting", stats: undefined, heard: undefined, campaign: undefined, rain: undefined, alarms: [], ring: ringOf(id), rates: new Rates() };
}

/** take applies an event; an unreadable event changes nothing. */
function take(id: string, live: Told, { event, data }: ServerEvent): Partial<Told> {
  let body: unknown;
  try {
    body = JSON.parse(data);
  } catch {
    return {};
  }
  if (typeof body !== "object" || body === null) return {};
  switch (event) {
    case "stats": {
      const s = body as Stats & { campaign: string; t?: number };
      if (s.campaign !== id) return {};
      if (s.t) correct(s.t);
      live.ring.push(seconds(), rowOf(s, live.rates));
      return { stats: s, heard: performance.now() };
    }
    case "campaign": {
      const c = body as Campaign;
      return c.id === id && c.revision >= (live.campaign?.revision ?? 0) ? { campaign: c } : {};
    }
    case "rain": {
      const r = body as Rain;
      return r.campaign === id ? { rain: r } : {};
    }
    case "alarm": {
      const a = body as Alarm;
      if (a.campaign && a.campaign !== id) return {};
      return { alarms: [{ ...a, id: alarmNumber++, at: Date.now() }, ...live.alarms].slice(0, 50) };
    }
    default:
      return {};
  }
}

/** rowOf is a row of the ring. */
function rowOf(s: Stats, rates: Rates): Row {
  const rate = rates.push(performance.now(), s.outcomes ?? {});
  return {
    grabs: s.grabs_per_second, won: s.won, stock: s.stock, paid: s.paid, online: s.online, p50: s.tap_p50_ms ?? null, p99: s.tap_p99_ms ?? null,
    wins: rate("won"), empty: rate("empty"), late: rate("late"),
  };
}
