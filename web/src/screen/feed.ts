// The screen's connection: to the campaign of the address, or to the server's current one. It never gives up.

import { CloseCode, RainClient } from "../../sdk/index.ts";
import type { StateMessage } from "../../sdk/redrain.d.ts";
import { request } from "../shared/api.ts";
import type { Lobby } from "../shared/schemas.ts";
import { actOf, busy } from "./act.ts";
import type { Identity } from "./identity.ts";
import { type State, initial, rained, told, welcomed } from "./state.ts";
import type { Wall } from "./wall.ts";

const ASK = 3_000; // ms, up to twice as long: interval of requests for the campaign to show
const ANSWER = 10_000; // ms for its answer
const AGAIN = 10_000; // ms before a refused connection is retried: a wall has no user to press a button
const OUTDATED = 3_000; // ms before an outdated page is loaded anew
const AT_ONCE = 400; // ms before a new guest replaces a refused one

/** The options of a Feed. fixed: the campaign to stay with; local: request the server's address for phones. */
export interface FeedOptions {
  fixed: string | null;
  local: boolean;
  identity: Identity;
  wall: Wall;
  /** called after each change */
  changed: () => void;
  /** called when the server does not support this page any more, because there is a newer one */
  outdated: () => void;
}

/** Feed keeps a State up to date. */
export class Feed {
  state: State = initial;
  readonly #o: FeedOptions;
  readonly #stop = new AbortController();
  #client: RainClient | null = null;
  #timers = new Set<number>();
  #refusals = 0; // since the last welcome

  constructor(options: FeedOptions) {
    this.#o = options;
  }

  /** now is the server's time, Unix ms. Before the first welcome it is this machine's. */
  now(): number {
    return this.#client?.serverNow() ?? Date.now();
  }

  start(): void {
    if (this.#o.fixed) this.#watch(this.#o.fixed);
    if (!this.#o.fixed || this.#o.local) void this.#ask();
  }

  /** stop ends all timers, listeners and connections. */
  stop(): void {
    this.#stop.abort();
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#client?.close();
  }

  #set(state: State): void {
    this.state = state;
    this.#o.changed();
  }

  // ask requests the campaign to show, periodically.
  async #ask(): Promise<void> {
    const patience = new AbortController();
    const timer = this.#after(ANSWER, () => patience.abort());
    try {
      const lobby = await request<Lobby>("/lobby", { signal: patience.signal });
      if (this.#stop.signal.aborted) return;
      this.#set({ ...this.state, nothing: !lobby.campaign, lan: lobby.join ?? this.state.lan });
      if (lobby.campaign && !this.#o.fixed) this.#follow(lobby.campaign);
    } catch {
      if (this.#stop.signal.aborted) return;
      if (!this.#client) this.#set({ ...this.state, link: "away" });
    } finally {
      clearTimeout(timer);
      this.#timers.delete(timer);
    }
    this.#after(ASK * (1 + Math.random()), () => void this.#ask());
  }

  // follow moves to another campaign after the current act.
  #follow(campaign: string): void {
    if (!this.#client) return this.#watch(campaign);
    if (this.#client.state === "open" && busy(actOf(this.state, this.now()))) return;
    this.#client.join(campaign);
  }

  #watch(campaign: string): void {
    const client = new RainClient({ token: (ask) => this.#o.identity.token(ask), campaign, watch: true });
    this.#client = client;
    const now = (): number => client.serverNow();
    client.on("welcome", (m) => {
      this.#refusals = 0;
      this.#set(welcomed(this.state, m, now()));
    });
    client.on("campaign", ({ campaign }) => {
      if (campaign.id === this.state.campaign?.id) this.#set({ ...this.state, campaign });
    });
    client.on("rain", ({ rain }) => {
      if (rain.campaign === this.state.campaign?.id) this.#set(rained(this.state, rain, now()));
    });
    client.on("room", (m) => this.#set(told(this.state, m, now())));
    client.on("wave", (m) => this.#o.wall.add(m));
    client.on("state", (m) => this.#moved(client, m));
    client.connect();
  }

  #moved(client: RainClient, { state, code = 0 }: StateMessage): void {
    if (this.#stop.signal.aborted) return;
    if (state === "waiting") this.#set({ ...this.state, link: "away" });
    if (state !== "ended") return;
    if (code === CloseCode.protocol) this.#after(OUTDATED, this.#o.outdated);
    const identity = code === CloseCode.badToken || code === 401 || code === 403;
    if (identity) this.#o.identity.refused();
    this.#set({ ...this.state, link: "away", refused: code });
    this.#after(identity && this.#refusals++ === 0 ? AT_ONCE : AGAIN, () => client.connect());
  }

  #after(ms: number, fn: () => void): number {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      fn();
    }, ms);
    this.#timers.add(timer);
    return timer;
  }
}
