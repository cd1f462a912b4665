// A world for one client or many, in which time passes when the test says so: timers, sockets and the server at their other end.

import { RainClient } from "../../sdk/index.ts";
import type { RainClientOptions, RainClientState, StateMessage } from "../../sdk/index.ts";

/** Wire is a message of either direction. */
export type Wire = Record<string, unknown>;

interface Timer {
  at: number;
  /** Whether it is the client's, and not the line's. */
  own: boolean;
  fn: () => void;
}

/** Line is a socket of the client's, and what the server does at its other end. */
export class Line {
  readyState = 0;
  onopen: (() => void) | null = null;
  onmessage: ((e: { data: unknown }) => void) | null = null;
  onclose: ((e: { code: number; reason: string }) => void) | null = null;
  /** What the client has sent. */
  readonly sent: Wire[] = [];
  readonly opened: number;
  /** Whether the server has gone silent without closing. */
  dead = false;

  readonly world: World;
  readonly url: string;

  constructor(world: World, url: string) {
    this.world = world;
    this.url = url;
    this.opened = world.now;
    world.lines.push(this);
    world.after(world.latency, () => {
      if (this.readyState !== 0 || this.dead) return;
      if (world.down) return this.drop(1006);
      this.readyState = 1;
      this.onopen?.();
    });
  }

  send(text: string): void {
    const m = JSON.parse(text) as Wire;
    this.sent.push(m);
    if (!this.dead) this.world.after(this.world.latency, () => this.dead || this.world.serve(this, m));
  }

  close(): void {
    this.readyState = 3;
  }

  /** say delivers one frame at once. */
  say(...messages: Wire[]): void {
    this.frame(messages.map((m) => JSON.stringify(m)).join("\n"));
  }

  frame(data: unknown): void {
    if (this.readyState === 1) this.onmessage?.({ data });
  }

  /** drop closes it from the server's side. */
  drop(code: number, reason = ""): void {
    this.readyState = 3;
    this.onclose?.({ code, reason });
  }

  of(type: string): Wire[] {
    return this.sent.filter((m) => m.type === type);
  }
}

/** World runs one test: await new World().run(async (w) => {…}). */
export class World {
  /** The steady clock, ms. */
  now = 1_000;
  /** One way, ms. */
  latency = 10;
  /** Server time minus steady clock. */
  ahead = 1_763_712_000_000;
  /** Whether no connection can be made. */
  down = false;
  readonly lines: Line[] = [];
  readonly reported: unknown[] = [];
  /** What a tap becomes; null: no answer. */
  judge: (tap: Wire) => Wire | null = () => null;
  /** What a hello or a join becomes; null: no answer. */
  greet: (m: Wire) => Wire | null = (m) => this.welcome(m);
  /** What a new token becomes; null: no answer. */
  renew: (m: Wire) => Wire | null = () => null;
  #timers = new Set<Timer>();

  welcome(m: Wire, more: Wire = {}): Wire {
    return {
      type: "welcome", id: m.id, user: "u1", server_time: this.serverTime(), campaign: { id: m.campaign }, rain: null, claims: [], claims_total: 0,
      limits: { taps_per_second: 20 }, ...more,
    };
  }

  serverTime(): number {
    return Math.floor(this.now + this.ahead);
  }

  serve(line: Line, m: Wire): void {
    let reply: Wire | null = null;
    if (m.type === "hello" || m.type === "join") reply = this.greet(m);
    if (m.type === "token") reply = this.renew(m);
    if (m.type === "ping") reply = { type: "pong", id: m.id, t: m.t, server_time: this.serverTime() };
    if (m.type === "tap") {
      const result = this.judge(m);
      reply = result && { type: "result", id: m.id, drop: m.drop, ...result };
    }
    if (reply) this.after(this.latency, () => line.dead || line.say(reply));
  }

  /** client makes one that lives in this world. */
  client(options: Partial<RainClientOptions> = {}): RainClient {
    const world = this;
    const Socket = class extends Line {
      constructor(url: string) {
        super(world, url);
      }
    };
    return new RainClient({
      url: "ws://rain.test/ws", token: "t1", campaign: "c1", random: () => 0.5, steady: () => this.now,
      WebSocket: Socket as unknown as NonNullable<RainClientOptions["WebSocket"]>, ...options,
    });
  }

  /** open is a client that is in the room. */
  async open(options: Partial<RainClientOptions> = {}): Promise<{ client: RainClient; line: Line }> {
    const client = this.client(options);
    client.connect();
    await this.pass(4 * this.latency);
    return { client, line: this.line };
  }

  /** line is the newest. */
  get line(): Line {
    const line = this.lines.at(-1);
    if (!line) throw new Error("no connection was made");
    return line;
  }

  after(ms: number, fn: () => void, own = false): Timer {
    const timer = { at: this.now + ms, fn, own };
    this.#timers.add(timer);
    return timer;
  }

  /** waiting is how many timers the clients have set. */
  get waiting(): number {
    return [...this.#timers].filter((t) => t.own).length;
  }

  /** pass lets time pass. */
  async pass(ms: number): Promise<void> {
    const until = this.now + ms;
    for (;;) {
      await settle();
      const next = [...this.#timers].filter((t) => t.at <= until).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.now = Math.max(this.now, next.at);
      this.#timers.delete(next);
      next.fn();
    }
    this.now = Math.max(this.now, until);
  }

  /** sleep lets time pass while nothing runs, as on a machine that is suspended: what is due comes late, all at once. */
  async sleep(ms: number): Promise<void> {
    this.now += ms;
    await this.pass(0);
  }

  async run(test: (w: World) => Promise<void>): Promise<void> {
    const { setTimeout: set, clearTimeout: clear, reportError: report } = globalThis;
    Object.assign(globalThis, {
      setTimeout: (fn: () => void, ms = 0) => this.after(ms, fn, true),
      clearTimeout: (t: Timer) => this.#timers.delete(t),
      reportError: (fault: unknown) => this.reported.push(fault),
    });
    try {
      await test(this);
    } finally {
      Object.assign(globalThis, { setTimeout: set, clearTimeout: clear, reportError: report });
    }
  }
}

/** settle lets the promises that are due go on. */
async function settle(): Promise<void> {
  for (let i = 0; i < 12; i++) await Promise.resolve();
}

/** states notes down the states of a client. */
export function states(client: RainClient): StateMessage[] {
  const seen: StateMessage[] = [];
  client.on("state", (m) => seen.push(m));
  return seen;
}

/** names are the states alone. */
export function names(seen: StateMessage[]): RainClientState[] {
  return seen.map((m) => m.state);
}

/** dice gives the same random numbers in each run (mulberry32). */
export function dice(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Check gathers what is wrong. */
export class Check {
  readonly faults: string[] = [];

  same(what: string, got: unknown, want: unknown): void {
    const [a, b] = [JSON.stringify(got), JSON.stringify(want)];
    if (a !== b) this.faults.push(`${what}: ${a}, want ${b}`);
  }

  holds(what: string, ok: boolean): void {
    if (!ok) this.faults.push(what);
  }
}
