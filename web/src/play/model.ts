// The state of the player's page.

import type { Campaign, Rain } from "../../sdk/index.ts";
import type { Winner } from "../rain/winners.ts";
import type { Profile } from "../shared/faces.ts";
import type { About } from "./hud.ts";
import type { Ended } from "./problem.ts";

/** Model is written on messages of the server and actions of the player, and read by render. */
export interface Model {
  landing: boolean;
  problem: Ended | null;
  about: About | null;
  campaign: Campaign | null;
  rain: Rain | null;
  /** packets that the player can win */
  stock: number | null;
  /** others can win other packets */
  lanes: boolean;
  online: number | null;
  winners: Winner[];
  /** the leading players of this event, greatest first, as far as the ledger has their wins */
  top: Winner[];
  user: string;
  /** what others see of the player */
  profile: Profile;
  /** number of the player's packets of this campaign */
  packets: number;
  /** when the page joined the room, Unix ms of the server */
  since: number;
  /** time of the next try to connect (ms of the page's clock); null: no lost connection */
  away: number | null;
  /** queue position, and expected time of admission (server's time; 0: unknown) */
  queue: { position: number; till: number } | null;
  /** time since which the current rain has been over, ms of the page's clock */
  over: number;
}

/** newModel returns the initial model; landing: no player is signed in. */
export function newModel(landing: boolean): Model {
  return {
    landing, problem: null, about: null, campaign: null, rain: null, stock: null, lanes: false, online: null, winners: [], top: [],
    user: "", profile: {}, packets: 0, since: 0, away: null, queue: null, over: 0,
  };
}
