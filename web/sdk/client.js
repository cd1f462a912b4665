// The socket client of redrain.v1: one connection at a time, taken up again by itself, each tap answered once.

import { delay } from "./backoff.js";
import { final } from "./close.js";

const HELLO_WAIT = 8_000; // ms for the welcome
const SILENT_ASK = 5_000; // ms without a word before the server is asked
const SILENT_GIVE_UP = 9_000; // ms without a word before the line is taken for dead
const STEADY = 10_000; // ms of connection after which the backoff starts afresh
const BURST = 6; // pings at the beginning, to set the clock
const BURST_EVERY = 120; // ms
const PING_EVERY = 20_000; // ms, to keep the clock set

// RainClient plays in one campaign's room.
//
// States: idle → connecting → open ⇄ waiting (for the next try) → ended (for good; `code` says why).
// Each server message is dispatched as an event of its type with the message as `detail`; besides those:
// `state` {state, code, retryIn} and `tick`, after the clock has learnt something.
export class RainClient extends EventTarget {
  #url;
  #token;
  #clock;
  #campaign; // where the player wants to be
  #room = null; // where the last welcome was from
  #joining = 0; // id of the join that is not answered yet
  #ws = null;
  #state = "idle";
  #attempt = 0;
  #floor = 0; // what the goodbye asked to wait, ms
  #openedAt = 0;
  #heardAt = 0;
  #nextId = 1;
  #taps = new Map(); // drop → {id, promise, resolve}
  #sent = new Map(); // id of a ping or hello → local time when it left
  #timers = new Set();
  #unlisten = new AbortController();
  #rate = 0;

  // token is an async function that is asked before each connection; clock is a ServerClock.
  constructor({ url, token, campaign, clock }) {
    super();
    this.#url = url;
    this.#token = token;
    this.#campaign = campaign;
    this.#clock = clock;
    const { signal } = this.#unlisten;
    window.addEventListener("offline", () => this.#ws && this.#lost(0), { signal });
    window.addEventListener("online", () => this.#hurry(), { signal });
    document.addEventListener("visibilitychange", () => document.hidden || this.#awake(), { signal });
  }

  get state() {
    return this.#state;
  }

  get campaign() {
    return this.#campaign;
  }

  // connect begins, and begins again after the end.
  connect() {
    if (this.#state === "idle" || this.#state === "ended") this.#open();
  }

  // close ends it from this side.
  close() {
    this.#unlisten.abort();
    this.#end(1000);
  }

  // join moves to another campaign's room. Taps in flight belong to the old one: they are given up.
  join(campaign) {
    if (campaign === this.#campaign) return;
    this.#campaign = campaign;
    this.#giveUp();
    if (this.#state === "open") this.#move();
  }

  // tap answers with the result of a drop: {outcome, amount, packet, claim}. An error of the server's answers
  // {outcome: "error", code, retryable}. Tapping a drop that is in flight answers with the same promise.
  tap(drop) {
    const known = this.#taps.get(drop);
    if (known) return known.promise;
    const tap = { id: this.#nextId++ };
    tap.promise = new Promise((resolve) => (tap.resolve = resolve));
    this.#taps.set(drop, tap);
    if (this.#state === "open") this.#sendTap(drop, tap);
    return tap.promise;
  }

  async #open() {
    this.#setState("connecting");
    let token;
    try {
      token = await this.#token();
    } catch (fault) {
      // The API refused for good (guests are off), or it was not reached.
      if (fault.status >= 400 && fault.status < 500 && fault.status !== 429) return this.#end(fault.status);
      return this.#retry(0);
    }
    if (this.#state !== "connecting") return;
    const ws = new WebSocket(this.#url, "redrain.v1");
    this.#ws = ws;
    ws.onopen = () => {
      this.#send({ type: "hello", id: this.#stamp(), token, campaign: this.#campaign });
      this.#after(HELLO_WAIT, () => this.#state === "connecting" && this.#lost(0));
    };
    ws.onmessage = (e) => this.#read(e.data);
    ws.onclose = (e) => this.#lost(e.code);
  }

  // read takes one frame, which may hold several objects, one on each line.
  #read(data) {
    this.#heardAt = this.#clock.local();
    for (const line of data.split("\n")) {
      if (!line) continue;
      const m = JSON.parse(line);
      this.#handle(m);
      this.dispatchEvent(new CustomEvent(m.type, { detail: m }));
    }
  }

  #handle(m) {
    switch (m.type) {
      case "welcome":
        this.#learn(m.id, m.server_time);
        this.#welcomed(m);
        break;
      case "pong":
        this.#learn(m.id, m.server_time);
        break;
      case "result":
        this.#answer(m.drop, m);
        break;
      case "error":
        this.#refused(m);
        break;
      case "goodbye":
        this.#floor = m.reconnect_after_ms ?? 0;
        break;
    }
  }

  #welcomed(m) {
    this.#rate = m.limits?.taps_per_second ?? 0;
    this.#room = m.campaign.id;
    if (this.#room !== this.#campaign) this.#move(); // join was called while the hello was on its way
    if (this.#state === "open") return; // of a join
    this.#openedAt = this.#clock.local();
    this.#setState("open");
    for (let i = 0; i < BURST; i++) this.#after(i * BURST_EVERY, () => this.#ping());
    this.#every(PING_EVERY, () => this.#ping());
    this.#every(1_000, () => this.#watch());
    // What was tapped and not answered is sent again; the server gives a win that it has decided once more.
    // Spread, so that the allowance of taps per second holds.
    let i = 0;
    const gap = this.#rate > 0 ? 1_000 / this.#rate : 0;
    for (const [drop, tap] of this.#taps) {
      this.#after(i++ * gap, () => this.#taps.get(drop) === tap && this.#sendTap(drop, tap));
    }
  }

  #move() {
    this.#joining = this.#stamp();
    this.#send({ type: "join", id: this.#joining, campaign: this.#campaign });
  }

  // refused takes an error to the request that it belongs to.
  #refused(m) {
    if (m.id === this.#joining) {
      if (m.retryable) this.#after(delay(1), () => this.#move());
      else this.#campaign = this.#room; // there is no such campaign: stay
      return;
    }
    for (const [drop, tap] of this.#taps) {
      if (tap.id === m.id) this.#answer(drop, { ...m, outcome: "error" });
    }
  }

  #answer(drop, m) {
    const tap = this.#taps.get(drop);
    if (!tap) return; // a second answer, to a tap that was sent twice
    this.#taps.delete(drop);
    tap.resolve(m);
  }

  // giveUp answers what is in flight: nothing is known of it here.
  #giveUp() {
    for (const drop of [...this.#taps.keys()]) this.#answer(drop, { drop, outcome: "unavailable" });
  }

  #sendTap(drop, tap) {
    this.#send({ type: "tap", id: tap.id, drop });
  }

  #ping() {
    this.#send({ type: "ping", id: this.#stamp(), t: Date.now() });
  }

  // stamp is a new id whose answer will tell the time.
  #stamp() {
    const id = this.#nextId++;
    this.#sent.set(id, this.#clock.local());
    return id;
  }

  #learn(id, serverTime) {
    const sent = this.#sent.get(id);
    if (sent === undefined) return;
    this.#sent.delete(id);
    this.#clock.sample(sent, this.#clock.local(), serverTime);
    this.dispatchEvent(new CustomEvent("tick"));
  }

  // watch notices a dead line long before the browser does: the room's figures come each second.
  #watch() {
    const silent = this.#clock.local() - this.#heardAt;
    if (silent > SILENT_GIVE_UP) this.#lost(0);
    else if (silent > SILENT_ASK) this.#ping();
  }

  #awake() {
    if (this.#state === "waiting") return this.#hurry();
    if (this.#state !== "open") return;
    this.#clock.reset();
    for (let i = 0; i < BURST; i++) this.#after(i * BURST_EVERY, () => this.#ping());
  }

  // hurry shortens the wait when the device says that it is worth it, unless the server has asked for one.
  #hurry() {
    if (this.#state === "waiting" && this.#floor === 0) this.#retry(0, { cap: 1_000 });
  }

  #send(message) {
    if (this.#ws?.readyState === WebSocket.OPEN) this.#ws.send(JSON.stringify(message));
  }

  // lost takes leave of the connection: either it was closed with a code, or (0) it is given up from here.
  #lost(code) {
    this.#hangUp();
    if (final(code)) return this.#end(code);
    if (this.#state === "open" && this.#clock.local() - this.#openedAt > STEADY) this.#attempt = 0;
    this.#retry(code);
  }

  #retry(code, options = {}) {
    this.#clear();
    const retryIn = delay(this.#attempt++, { floor: this.#floor, ...options });
    this.#setState("waiting", { code, retryIn });
    this.#after(retryIn, () => {
      this.#floor = 0;
      this.#open();
    });
  }

  #end(code) {
    this.#hangUp();
    this.#giveUp();
    this.#attempt = 0;
    this.#setState("ended", { code });
  }

  #hangUp() {
    this.#clear();
    this.#sent.clear();
    const ws = this.#ws;
    this.#ws = null;
    if (!ws) return;
    ws.onopen = ws.onmessage = ws.onclose = null;
    ws.close();
  }

  #setState(state, more = {}) {
    this.#state = state;
    this.dispatchEvent(new CustomEvent("state", { detail: { state, ...more } }));
  }

  // Timers belong to the present connection or wait; clear stops them all.
  #after(ms, fn) {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      fn();
    }, ms);
    this.#timers.add(timer);
  }

  #every(ms, fn) {
    const timer = setInterval(fn, ms);
    this.#timers.add(timer);
  }

  #clear() {
    for (const timer of this.#timers) clearTimeout(timer); // one id space with intervals
    this.#timers.clear();
  }
}
