// The state of the player's page.

import type { Campaign, Rain } from "../../sdk/index.ts";
import type { Winner } from "../rain/winners.ts";
import type { About } from "./hud.ts";
import type { Ended } from "./problem.ts";

/** Model is written on messages of the server and actions of the player, and read by render. */
export interface Model {
  landing: boolean;
  problem: Ended | null;
  about: About | null;
  campaign: Campaign | null;
  rain: Rain | null;
  /** what the player can win */
  stock: number | null;
  /** others can win other packets */
  lanes: boolean;
  online: number | null;
  winners: Winner[];
  /** who has won most of this event, most first, as far as it is in the ledger */
  top: Winner[];
  user: string;
  /** packets of this campaign that the player has */
  packets: number;
  /** when the page joined the room, Unix ms of the server */
  since: number;
  /** the connection is away: when the next try is due (ms of the page's clock) */
  away: number | null;
  /** the place in the waiting room of a full one, and until when it will take (server's time; 0: not known) */
  queue: { position: number; till: number } | null;
  /** since when the present rain has been over, ms of the page's clock */
  over: number;
}

/** newModel returns the initial model; landing: no player is signed in. */
export function newModel(landing: boolean): Model {
  return {
    landing, problem: null, about: null, campaign: null, rain: null, stock: null, lanes: false, online: null, winners: [], top: [],
    user: "", packets: 0, since: 0, away: null, queue: null, over: 0,
  };
}
