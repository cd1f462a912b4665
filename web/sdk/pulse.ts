// The pulse of a connection: pings that set the clock, and a look each second at whether the line is alive.

import type { ServerClock } from "./clock.ts";
import type { Timers } from "./timers.ts";

const BURST = 6; // pings at the beginning, to set the clock
const BURST_EVERY = 120; // ms
const PING_EVERY = 20_000; // ms, to keep the clock set
const WATCH_EVERY = 1_000; // ms between looks at the line; the room's figures come as often
const SILENT_ASK = 2_500; // ms without a word before the server is asked, at each look
const SILENT_GIVE_UP = 6_000; // ms without a word before the line is taken for dead
const ASLEEP = 3_000; // ms by which a look comes too late when the machine, or the tab, was asleep

/** PulseOptions are the options of a pulse. */
interface PulseOptions {
  clock: ServerClock;
  /** Of the connection: who clears them stops the pulse. */
  timers: Timers;
  newId: () => number;
  send: (message: object) => void;
  /** Is called when nothing has been heard for too long. */
  dead: () => void;
}

/** Pulse of one client, whichever connection it is on. */
export class Pulse {
  #o: PulseOptions;
  #sent = new Map<number, number>(); // by id of a request whose answer has the time: the local time of sending
  #heardAt = 0; // local times
  #watchedAt = 0;

  constructor(options: PulseOptions) {
    this.#o = options;
  }

  /** start is called when a connection is in the room. */
  start(): void {
    this.#watchedAt = this.#o.clock.local();
    this.#burst();
    this.#o.timers.every(PING_EVERY, () => this.#ping());
    this.#o.timers.every(WATCH_EVERY, () => this.#watch());
  }

  /** forget drops the open requests of a closed connection. */
  forget(): void {
    this.#sent.clear();
  }

  /** heard notes that something has come over the line. */
  heard(): void {
    this.#heardAt = this.#o.clock.local();
  }

  /** stamp returns a new id for a request whose answer has the time. */
  stamp(): number {
    const id = this.#o.newId();
    this.#sent.set(id, this.#o.clock.local());
    return id;
  }

  /** answered sets the clock by the answer to a request. It reports whether there was such a request. */
  answered(id: number, serverTime: number): boolean {
    const sent = this.#sent.get(id);
    if (sent === undefined) return false;
    this.#sent.delete(id);
    this.#o.clock.sample(sent, this.#o.clock.local(), serverTime);
    return true;
  }

  /** told compares a time from the server with the clock, and sends a ping if they do not fit. */
  told(serverTime: number): void {
    if (this.#o.clock.doubts(serverTime)) this.#ping();
  }

  /** wake is after a sleep: the line may be dead, the steady clock may have stood still, and what has come may not have been read. */
  wake(): void {
    this.#heardAt = Math.max(this.#heardAt, this.#o.clock.local() - SILENT_ASK);
    this.#burst();
  }

  #burst(): void {
    for (let i = 0; i < BURST; i++) this.#o.timers.after(i * BURST_EVERY, () => this.#ping());
  }

  #ping(): void {
    this.#o.send({ type: "ping", id: this.stamp(), t: Date.now() });
  }

  /** watch notices a dead line long before the browser does. */
  #watch(): void {
    const now = this.#o.clock.local();
    const slept = now - this.#watchedAt > WATCH_EVERY + ASLEEP;
    this.#watchedAt = now;
    const silent = now - this.#heardAt;
    if (slept) this.wake();
    else if (silent > SILENT_GIVE_UP) this.#o.dead();
    else if (silent > SILENT_ASK) this.#ping();
  }
}
