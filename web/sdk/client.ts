// The client of redrain.v1: one connection at a time, taken up again by itself, each tap answered once.

import { address } from "./address.ts";
import { delay } from "./backoff.ts";
import { ServerClock } from "./clock.ts";
import { isFinal } from "./close.ts";
import { decode, type Message } from "./decode.ts";
import { watchDevice } from "./device.ts";
import { Emitter, report } from "./events.ts";
import type { Drop, RainClientEvents, RainClientOptions, RainClientState, StateMessage, TapResult } from "./redrain.d.ts";
import { type Tap, Taps } from "./taps.ts";
import { Timers } from "./timers.ts";

const TOKEN_WAIT = 15_000; // ms for the token function
const WELCOME_WAIT = 10_000; // ms from opening the socket to the welcome
const WATCH_EVERY = 1_000; // ms between looks at the line; the room's figures come as often
const SILENT_ASK = 2_500; // ms without a word before the server is asked, at each look
const SILENT_GIVE_UP = 6_000; // ms without a word before the line is taken for dead
const ASLEEP = 3_000; // ms by which a look comes too late when the machine, or the tab, was asleep
const STEADY = 10_000; // ms of connection after which the backoff starts afresh
const BURST = 6; // pings at the beginning, to set the clock
const BURST_EVERY = 120; // ms
const PING_EVERY = 20_000; // ms, to keep the clock set
const LONGEST_FLOOR = 60_000; // ms of what a goodbye may ask

/** RainClient: see redrain.d.ts, where each member is described. */
export class RainClient {
  static isFinal = isFinal;

  #url: string;
  #token: RainClientOptions["token"];
  #campaign: string; // where the player wants to be
  #Socket: NonNullable<RainClientOptions["WebSocket"]> | undefined;
  #random: () => number;
  #clock: ServerClock;

  #events = new Emitter();
  #taps = new Taps();
  #timers = new Timers(); // of the present connection or wait
  #forget: (() => void) | null = null; // takes the device's listeners away
  #state: RainClientState = "idle";
  #ws: WebSocket | null = null;
  #try = 0; // counts connections, so that what belongs to an old one is known by its number
  #attempt = 0; // tries since the last steady connection
  #floor = 0; // what the goodbye asked to wait, ms
  #nextTryAt = 0; // local time
  #openedAt = 0; // local times
  #heardAt = 0;
  #watchedAt = 0;
  #room = ""; // where the last welcome was from
  #joining = 0; // id of the join that is not answered yet
  #rate = 0; // taps per second that the server takes; 0: any
  #nextId = 1;
  #sent = new Map<number, number>(); // id of a ping, hello or join → local time when it left

  constructor({ url, token, campaign, WebSocket: Socket, random = Math.random, steady = () => performance.now() }: RainClientOptions) {
    this.#url = address(url);
    this.#token = token;
    this.#campaign = campaign;
    this.#Socket = Socket;
    this.#random = random;
    this.#clock = new ServerClock(steady);
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

  connect(): void {
    if (this.#state === "waiting") return this.#hurry();
    if (this.#state !== "idle" && this.#state !== "ended") return;
    this.#forget = watchDevice({
      offline: () => this.#ws && this.#lost(0),
      online: () => this.#hurry(),
      visible: () => this.#awake(),
    });
    void this.#open();
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

  tap(drop: string | Drop): Promise<TapResult> {
    const { promise, fresh } = this.#taps.add(drop, () => this.#nextId++, this.serverNow());
    if (this.#state === "ended") this.#taps.giveUp();
    else if (fresh && this.#state === "open") this.#sendTap(fresh);
    return promise;
  }

  // --- The connection ---

  async #open(): Promise<void> {
    const mine = ++this.#try;
    this.#setState("connecting");
    if (mine !== this.#try) return; // a listener has closed it
    this.#timers.after(TOKEN_WAIT, () => this.#lost(0));
    let token: string;
    try {
      token = typeof this.#token === "function" ? await this.#token() : this.#token;
    } catch (fault) {
      if (mine !== this.#try) return;
      const status = (fault as { status?: unknown } | null)?.status;
      return refusedForGood(status) ? this.#end(status) : this.#lost(0);
    }
    if (mine !== this.#try) return;
    this.#timers.clear();
    this.#timers.after(WELCOME_WAIT, () => this.#lost(0));
    try {
      this.#dial(token);
    } catch (fault) {
      report(fault); // the page may not open this address at all (ws: from https:), or there is no WebSocket here
      this.#end(0);
    }
  }

  #dial(token: string): void {
    const ws = new (this.#Socket ?? WebSocket)(this.#url, "redrain.v1");
    this.#ws = ws;
    ws.onopen = () => this.#send({ type: "hello", id: this.#stamp(), token, campaign: this.#campaign });
    ws.onmessage = (e: MessageEvent) => this.#read(ws, e.data);
    ws.onclose = (e: CloseEvent) => this.#lost(e.code);
  }

  /** read takes one frame. A listener may close the client in the middle of it. */
  #read(ws: WebSocket, data: unknown): void {
    this.#heardAt = this.#clock.local();
    for (const m of decode(data)) {
      if (this.#ws !== ws) return;
      this.#handle(m);
      if (this.#ws === ws && m.type !== "pong") this.#events.emit(m.type, m as never);
    }
  }

  #handle(m: Message): void {
    switch (m.type) {
      case "welcome":
        this.#learn(m.id, m.server_time);
        return this.#ws ? this.#welcomed(m) : undefined; // a listener may have closed it
      case "pong":
        return this.#learn(m.id, m.server_time);
      case "room":
        if (this.#clock.doubts(m.t)) this.#ping();
        return;
      case "result":
        return this.#taps.result(m);
      case "error":
        return m.id === this.#joining ? this.#stay(m.retryable) : this.#taps.error(m);
      case "goodbye":
        this.#floor = Math.min(LONGEST_FLOOR, Math.max(0, Number(m.reconnect_after_ms) || 0));
    }
  }

  #welcomed(m: Message & { type: "welcome" }): void {
    this.#room = m.campaign.id;
    this.#rate = Number(m.limits?.taps_per_second) || 0;
    if (this.#state === "open") return; // of a join
    this.#timers.clear();
    this.#floor = 0;
    this.#openedAt = this.#watchedAt = this.#clock.local();
    if (this.#room !== this.#campaign) this.#move(); // join was called while the hello was on its way
    this.#burst();
    this.#timers.every(PING_EVERY, () => this.#ping());
    this.#timers.every(WATCH_EVERY, () => this.#watch());
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
    this.#joining = this.#stamp();
    this.#send({ type: "join", id: this.#joining, campaign: this.#campaign });
  }

  /** stay is for a join that was refused: for now, or because there is no such campaign. */
  #stay(retryable: boolean): void {
    if (retryable) this.#timers.after(delay(1, this.#random), () => this.#move());
    else this.#campaign = this.#room;
  }

  /** lost takes leave of the connection: either it was closed with a code, or (0) it is given up from here. */
  #lost(code: number): void {
    if (isFinal(code)) return this.#end(code);
    if (this.#state === "open" && this.#clock.local() - this.#openedAt > STEADY) this.#attempt = 0;
    this.#hangUp();
    this.#wait(code, this.#floor + delay(this.#attempt++, this.#random));
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
    this.#hangUp();
    this.#forget?.();
    this.#forget = null;
    this.#attempt = this.#floor = 0;
    this.#taps.giveUp();
    this.#setState("ended", { code });
  }

  #hangUp(): void {
    this.#try++;
    this.#timers.clear();
    this.#sent.clear();
    const ws = this.#ws;
    this.#ws = null;
    if (!ws) return;
    ws.onopen = ws.onmessage = ws.onclose = null;
    ws.close();
  }

  // --- What the device says ---

  /** watch notices a dead line long before the browser does. */
  #watch(): void {
    const now = this.#clock.local();
    const slept = now - this.#watchedAt > WATCH_EVERY + ASLEEP;
    this.#watchedAt = now;
    if (slept) return this.#awake(); // what came meanwhile may not have been read yet
    const silent = now - this.#heardAt;
    if (silent > SILENT_GIVE_UP) this.#lost(0);
    else if (silent > SILENT_ASK) this.#ping();
  }

  /** awake is after a sleep: the line may be dead, and the steady clock may have stood still. */
  #awake(): void {
    if (this.#state === "waiting") return this.#hurry();
    if (this.#state !== "open") return;
    this.#heardAt = Math.max(this.#heardAt, this.#clock.local() - SILENT_ASK);
    this.#burst();
  }

  /** hurry shortens the wait when the device says that it is worth it, unless the server has asked for one. */
  #hurry(): void {
    if (this.#state !== "waiting" || this.#floor > 0) return;
    const retryIn = delay(0, this.#random);
    if (this.#clock.local() + retryIn >= this.#nextTryAt) return;
    this.#timers.clear();
    this.#wait(0, retryIn);
  }

  // --- Sending ---

  #sendTap(tap: Tap): void {
    this.#send({ type: "tap", id: tap.id, drop: tap.drop });
  }

  #burst(): void {
    for (let i = 0; i < BURST; i++) this.#timers.after(i * BURST_EVERY, () => this.#ping());
  }

  #ping(): void {
    this.#send({ type: "ping", id: this.#stamp(), t: Date.now() });
  }

  #send(message: object): void {
    if (this.#ws?.readyState === 1) this.#ws.send(JSON.stringify(message));
  }

  /** stamp is a new id whose answer will tell the time. */
  #stamp(): number {
    const id = this.#nextId++;
    this.#sent.set(id, this.#clock.local());
    return id;
  }

  #learn(id: number, serverTime: number): void {
    const sent = this.#sent.get(id);
    if (sent === undefined) return;
    this.#sent.delete(id);
    this.#clock.sample(sent, this.#clock.local(), serverTime);
    this.#events.emit("tick", { rtt: this.#clock.rtt });
  }

  #setState(state: RainClientState, more: Omit<StateMessage, "state"> = {}): void {
    this.#state = state;
    this.#events.emit("state", { state, ...more });
  }
}

/** refusedForGood tells of an HTTP status whether the same request would be refused again. */
function refusedForGood(status: unknown): status is number {
  return typeof status === "number" && status >= 400 && status < 500 && status !== 408 && status !== 425 && status !== 429;
}
