// The client of redrain.v1: one connection at a time, taken up again by itself, each tap answered once.

import { address } from "./address.ts";
import { delay } from "./backoff.ts";
import { ServerClock } from "./clock.ts";
import { CloseCode, isFinal } from "./close.ts";
import { decode, type Message } from "./decode.ts";
import { watchDevice } from "./device.ts";
import { Emitter, report } from "./events.ts";
import { Pulse } from "./pulse.ts";
import type { Drop, RainClientEvents, RainClientOptions, RainClientState, StateMessage, TapResult, WaitingMessage } from "./redrain.d.ts";
import { Renewal } from "./renewal.ts";
import { type Tap, Taps } from "./taps.ts";
import { Timers } from "./timers.ts";
import { askTurn, FULL, turnOf } from "./turn.ts";

const TOKEN_WAIT = 15_000; // ms for the token function
const WELCOME_WAIT = 10_000; // ms from opening the socket to the welcome
const STEADY = 10_000; // ms of connection after which the backoff starts afresh
const LONGEST_FLOOR = 60_000; // limit of a goodbye's pause, ms

/** RainClient: see redrain.d.ts, where each member is described. */
export class RainClient {
  static isFinal = isFinal;

  #url: string;
  #token: RainClientOptions["token"];
  #campaign: string; // where the player wants to be
  #watch: boolean | undefined;
  #Socket: NonNullable<RainClientOptions["WebSocket"]> | undefined;
  #random: () => number;
  #clock: ServerClock;

  #events = new Emitter();
  #taps = new Taps();
  #timers = new Timers(); // of the present connection or wait
  #pulse: Pulse;
  #renewal: Renewal;
  #shown = ""; // the token that the server has seen last
  #expired = ""; // the token with which a connection has ended because it had expired
  #forget: (() => void) | null = null; // takes the device's listeners away
  #state: RainClientState = "idle";
  #ws: WebSocket | null = null;
  #try = 0; // counts connections, so that what belongs to an old one is known by its number
  #attempt = 0; // tries since the last steady connection
  #turn: WaitingMessage | null = null; // the queue position of the last goodbye
  #fetch: typeof fetch | undefined;
  #floor = 0; // the pause of the goodbye, ms
  #nextTryAt = 0; // local time
  #openedAt = 0; // local time
  #room = ""; // where the last welcome was from
  #joining = 0; // id of the join that is not answered yet
  #rate = 0; // taps per second that the server takes; 0: any
  #lastId = 0;

  constructor({ url, token, campaign, watch, WebSocket: Socket, fetch: get, random = Math.random, steady = () => performance.now() }: RainClientOptions) {
    this.#url = address(url);
    this.#token = token;
    this.#campaign = campaign;
    this.#watch = watch;
    this.#Socket = Socket;
    this.#fetch = get ?? (typeof fetch === "function" ? (input, init) => fetch(input, init) : undefined);
    this.#random = random;
    this.#clock = new ServerClock(steady);
    this.#pulse = new Pulse({
      clock: this.#clock, timers: this.#timers, newId: () => ++this.#lastId, send: (m) => this.#send(m), dead: () => this.#lost(0),
    });
    this.#renewal = new Renewal({
      timers: this.#timers, random, now: () => this.#clock.now(), newId: () => ++this.#lastId, token: () => this.#ask(true),
      send: (m) => this.#offer(m),
    });
  }

  get state(): RainClientState {
    return this.#state;
  }

  get campaign(): string {
    return this.#campaign;
  }

  get synced(): boolean {
    return this.#clock.synced;
  }

  get rtt(): number {
    return this.#clock.rtt;
  }

  serverNow(): number {
    return this.#clock.now();
  }

  on<K extends keyof RainClientEvents>(type: K, listener: (event: RainClientEvents[K]) => void, options?: { signal?: AbortSignal }): () => void {
    return this.#events.on(type, listener, options?.signal);
  }

  connect({ spread = 0 }: { spread?: number } = {}): void {
    if (this.#state === "waiting") return this.#hurry();
    if (this.#state !== "idle" && this.#state !== "ended") return;
    this.#forget = watchDevice({
      offline: () => this.#ws && this.#lost(0),
      online: () => this.#hurry(),
      visible: () => (this.#state === "open" ? this.#pulse.wake() : this.#hurry()),
    });
    if (!(spread > 0)) return void this.#open();
    this.#floor = this.#random() * spread;
    this.#wait(0, this.#floor);
  }

  close(): void {
    if (this.#state !== "ended") this.#end(1000);
  }

  join(campaign: string): void {
    if (campaign === this.#campaign) return;
    this.#campaign = campaign;
    this.#taps.giveUp();
    if (this.#state === "open") this.#move();
  }

  async renew(): Promise<void> {
    const token = await this.#ask(false);
    if (this.#state === "open") this.#offer({ type: "token", id: ++this.#lastId, token });
  }

  tap(drop: string | Drop): Promise<TapResult> {
    const { promise, fresh } = this.#taps.add(drop, () => ++this.#lastId, this.serverNow());
    if (this.#state === "ended") this.#taps.giveUp();
    else if (fresh && this.#state === "open") this.#sendTap(fresh);
    return promise;
  }

  async #open(): Promise<void> {
    const mine = ++this.#try;
    this.#setState("connecting");
    if (mine !== this.#try) return; // a listener has closed it
    this.#timers.after(TOKEN_WAIT, () => this.#lost(0));
    let token: string;
    try {
      token = await this.#ask(this.#expired !== "");
    } catch (fault) {
      if (mine !== this.#try) return;
      const status = (fault as { status?: unknown } | null)?.status;
      return refusedForGood(status) ? this.#end(status) : this.#lost(0);
    }
    if (mine !== this.#try) return;
    if (token === this.#expired) return this.#end(CloseCode.expired); // there is no newer one
    this.#expired = "";
    this.#timers.clear();
    this.#timers.after(WELCOME_WAIT, () => this.#lost(0));
    try {
      this.#dial(token);
    } catch (fault) {
      report(fault); // the page may not open this address at all (ws: from https:), or there is no WebSocket here
      this.#end(0);
    }
  }

  /** ask gives the token; renew: the one before has expired, or does so soon. */
  #ask(renew: boolean): string | Promise<string> {
    return typeof this.#token === "function" ? this.#token({ renew }) : this.#token;
  }

  /** offer sends a token that the server has not seen. */
  #offer(m: { type: "token"; id: number; token: string }): void {
    if (m.token !== this.#shown) this.#send({ ...m, token: (this.#shown = m.token) });
  }

  #dial(token: string): void {
    this.#shown = token;
    const ws = new (this.#Socket ?? WebSocket)(this.#url, "redrain.v1");
    this.#ws = ws;
    ws.onopen = () => this.#send({ type: "hello", id: this.#pulse.stamp(), token, campaign: this.#campaign, watch: this.#watch });
    ws.onmessage = (e: MessageEvent) => this.#read(ws, e.data);
    ws.onclose = (e: CloseEvent) => this.#lost(e.code, e.reason);
  }

  /** read takes one frame. A listener may close the client in the middle of it. */
  #read(ws: WebSocket, data: unknown): void {
    this.#pulse.heard();
    for (const m of decode(data)) {
      if (this.#ws !== ws) return;
      this.#handle(ws, m);
      if (this.#ws === ws && m.type !== "pong" && m.type !== "token_renewed") this.#events.emit(m.type, m as never);
    }
  }

  #handle(ws: WebSocket, m: Message): void {
    switch (m.type) {
      case "welcome":
        this.#learn(m.id, m.server_time);
        return this.#ws === ws ? this.#welcomed(m) : undefined; // a listener may have closed it, and begun another
      case "pong":
        return this.#learn(m.id, m.server_time);
      case "room":
        return this.#pulse.told(m.t);
      case "result":
        return this.#taps.result(m);
      case "token_renewed":
        return this.#renewal.good(m.token_expires_at);
      case "error":
        this.#renewal.error(m.id, m.retryable);
        return m.id === this.#joining ? this.#stay(m.retryable, Number(m.retry_after_ms) || 0) : this.#taps.error(m);
      case "goodbye":
        this.#floor = Math.min(LONGEST_FLOOR, Math.max(0, Number(m.reconnect_after_ms) || 0));
        this.#turn = turnOf(m);
    }
  }

  #welcomed(m: Message & { type: "welcome" }): void {
    this.#room = m.campaign.id;
    this.#rate = Number(m.limits?.taps_per_second) || 0;
    if (this.#state !== "open") this.#timers.clear();
    if (typeof this.#token === "function") this.#renewal.good(m.token_expires_at);
    if (this.#state === "open") return; // of a join
    this.#floor = 0;
    this.#openedAt = this.#clock.local();
    if (this.#room !== this.#campaign) this.#move(); // join was called while the hello was in flight
    this.#pulse.start();
    this.#resend();
    this.#setState("open");
  }

  /**
   * resend sends again what was tapped and not answered; the server gives a win that it has decided once more. At half the
   * pace that it takes, so that the player's own taps have room beside them.
   */
  #resend(): void {
    const gap = this.#rate > 0 ? 2_000 / this.#rate : 0;
    this.#taps.list().forEach((tap, i) => {
      this.#timers.after(i * gap, () => this.#taps.has(tap) && this.#sendTap(tap));
    });
  }

  #move(): void {
    this.#joining = this.#pulse.stamp();
    this.#send({ type: "join", id: this.#joining, campaign: this.#campaign });
  }

  /** stay is for a join that was refused: for now, or because there is no such campaign. */
  #stay(retryable: boolean, after: number): void {
    if (retryable) this.#timers.after(after || delay(1, this.#random), () => this.#move());
    else this.#campaign = this.#room;
  }

  /** lost takes leave of the connection: either it was closed with a code, or (0) it is given up from here. */
  #lost(code: number, reason?: string): void {
    if (code === CloseCode.expired && typeof this.#token === "function") this.#expired = this.#shown;
    else if (isFinal(code, reason)) return this.#end(code);
    if (this.#state === "open" && this.#clock.local() - this.#openedAt > STEADY) this.#attempt = 0;
    const turn = this.#turn;
    this.#hangUp();
    if (code === FULL && turn) return this.#queue(turn);
    this.#wait(code, this.#floor + delay(this.#attempt++, this.#random));
  }

  /** queue waits for a seat, and asks as often as the server says: its times are spread already, and who is late loses the place. */
  #queue(turn: WaitingMessage): void {
    const mine = this.#try;
    this.#attempt = 0;
    this.#floor = turn.retry_after_ms;
    this.#nextTryAt = this.#clock.local() + this.#floor;
    this.#timers.after(this.#floor, async () => {
      const next = await askTurn(this.#fetch, this.#url, this.#campaign, this.#shown);
      if (mine !== this.#try) return; // closed, or begun anew
      if (next) return this.#queue(next);
      this.#floor = 0;
      void this.#open();
    });
    this.#setState("waiting", { code: FULL, retryIn: this.#floor });
    if (mine === this.#try) this.#events.emit("waiting", turn);
  }

  #wait(code: number, retryIn: number): void {
    this.#nextTryAt = this.#clock.local() + retryIn;
    this.#timers.after(retryIn, () => {
      this.#floor = 0;
      void this.#open();
    });
    this.#setState("waiting", { code, retryIn });
  }

  #end(code: number): void {
    this.#hangUp(code);
    this.#forget?.();
    this.#forget = null;
    this.#attempt = this.#floor = 0;
    this.#expired = "";
    this.#taps.giveUp();
    this.#setState("ended", { code });
  }

  #hangUp(code = 0): void {
    this.#try++;
    this.#timers.clear();
    this.#turn = null;
    this.#pulse.forget();
    this.#renewal.forget();
    const ws = this.#ws;
    this.#ws = null;
    if (!ws) return;
    ws.onopen = ws.onmessage = ws.onclose = null;
    if (code === 1000) ws.close(1000); // the player goes, and gives up the seat; who does not say so may come back to it
    else ws.close();
  }

  /** hurry shortens the wait when the device says that it is worth it, unless the server has asked for one. */
  #hurry(): void {
    if (this.#state !== "waiting" || this.#floor > 0) return;
    const retryIn = delay(0, this.#random);
    if (this.#clock.local() + retryIn >= this.#nextTryAt) return;
    this.#timers.clear();
    this.#wait(0, retryIn);
  }

  #sendTap(tap: Tap): void {
    this.#send({ type: "tap", id: tap.id, drop: tap.drop });
  }

  #send(message: object): void {
    if (this.#ws?.readyState === 1) this.#ws.send(JSON.stringify(message));
  }

  #learn(id: number, serverTime: number): void {
    if (this.#pulse.answered(id, serverTime)) this.#events.emit("tick", { rtt: this.#clock.rtt });
  }

  #setState(state: RainClientState, more: Omit<StateMessage, "state"> = {}): void {
    this.#state = state;
    this.#events.emit("state", { state, ...more });
  }
}

/** refusedForGood reports whether a request with this HTTP status would be refused again. */
function refusedForGood(status: unknown): status is number {
  return typeof status === "number" && status >= 400 && status < 500 && status !== 408 && status !== 425 && status !== 429;
}
