// How much of the stock a rain can hand out to the players who are connected, before it is started.

import type { Campaign, Stats } from "../../shared/schemas.ts";
import { LIMITS, type RainBody, type RainForm } from "./limits.ts";

/** Limit is the setting that limits a player's wins: the campaign's rules, the drops on a screen, or the draws. */
export type Limit = "wins_per_user" | "taps_per_user" | "drops" | "draws";

/** Forecast is the outcome of a rain if every player wins as much as possible. */
export interface Forecast {
  players: number;
  /** each is the number of packets that one player can win; of draws with odds, the expected number. */
  each: number;
  limit: Limit;
  stock: number;
  /** most is the number of packets that all players can win. */
  most: number;
  /** left is the money that would stay, in minor units: of packets of average size. */
  left: number;
  /** needed is the number of players who could win the stock. wanted is the number of packets for each that ends it. */
  needed: number;
  wanted: number;
}

/** forecast computes the outcome of a rain from the campaign's rules and its current figures. */
export function forecast(c: Pick<Campaign, "wins_per_user" | "taps_per_user">, s: Pick<Stats, "online" | "stock" | "amount_left">, r: RainBody): Forecast {
  const odds = r.odds === "auto" ? 1 : r.odds;
  const limits: [Limit, number][] = [["wins_per_user", c.wins_per_user], ["drops", packetDrops(r)]];
  if (c.taps_per_user > 0) limits.push(["taps_per_user", c.taps_per_user]);
  if (r.odds !== 1) limits.push(["draws", Math.ceil(r.duration_ms / r.beat_ms) * odds]);
  const [limit, each] = limits.reduce((a, b) => (b[1] < a[1] ? b : a));
  const most = Math.min(s.stock, Math.floor(s.online * each));
  return {
    players: s.online, each, limit, stock: s.stock, most, left: s.stock > 0 ? Math.round(s.amount_left * ((s.stock - most) / s.stock)) : 0,
    needed: Math.ceil(s.stock / each), wanted: Math.ceil(s.stock / s.online),
  };
}

/** packetDrops is the number of drops with a packet that a screen shows in a rain. */
function packetDrops(r: RainBody): number {
  return Math.floor((r.duration_ms * r.drops_per_second * (100 - r.decoy_percent)) / 100_000);
}

/** Remedy is a change of the form that hands out more; n is the number in its text. */
export interface Remedy {
  key: "longer" | "denser" | "certain";
  n: number;
  form: Partial<RainForm>;
}

/** MOST_DENSE is the number of drops a second that a phone's screen still has room for. */
const MOST_DENSE = 30;

/** remedies are the changes of a rain that let its players win the stock, as far as the campaign's rules allow. */
export function remedies(c: Pick<Campaign, "wins_per_user" | "taps_per_user">, f: Forecast, r: RainBody): Remedy[] {
  if (f.players === 0 || f.most >= f.stock) return [];
  if (f.limit === "draws") return [{ key: "certain", n: 0, form: { luck: "all" } }];
  if (f.limit !== "drops") return [];
  const drops = (Math.min(f.wanted, c.wins_per_user, c.taps_per_user || Infinity) * 100) / (100 - r.decoy_percent);
  const [seconds, rate] = [Math.ceil(drops / r.drops_per_second), Math.ceil((drops * 1_000) / r.duration_ms)];
  const found: Remedy[] = [];
  if (seconds * 1_000 <= LIMITS.duration_ms.most) found.push({ key: "longer", n: seconds, form: { duration_ms: String(seconds) } });
  if (rate <= MOST_DENSE) found.push({ key: "denser", n: rate, form: { drops_per_second: String(rate) } });
  return found;
}
