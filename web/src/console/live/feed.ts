import { delay } from "../../../sdk/backoff.ts";
import { ApiError } from "../../shared/api.ts";
import { Parser, type ServerEvent } from "./sse.ts";

/** FeedState: live: connected; lost: between two tries; refused: for good. */
export type FeedState = "connecting" | "live" | "lost" | "refused";

export interface FeedOptions {
  /** open asks for the stream. */
  open: (signal: AbortSignal) => Promise<Response>;
  event: (event: ServerEvent) => void;
  state: (state: FeedState) => void;
  /** silence is the time without a byte, in ms, after which the connection counts as dead. */
  silence: number;
  random?: () => number;
}

/** Feed keeps a stream of Server-Sent Events open until it is closed. It owns its timers and its listeners. */
export class Feed {
  readonly #options: FeedOptions;
  #connection: AbortController | null = null;
  #closed = false;
  #wake: () => void = () => {};
  readonly #online = () => this.#wake();
  // A page that the browser keeps for the back button would keep its connection too, and a browser has only six for a
  // server.
  readonly #hidden = () => this.#connection?.abort();

  constructor(options: FeedOptions) {
    this.#options = options;
    addEventListener("online", this.#online);
    addEventListener("pagehide", this.#hidden);
    void this.#run();
  }

  /** close ends it; nothing is called afterwards. */
  close(): void {
    this.#closed = true;
    removeEventListener("online", this.#online);
    removeEventListener("pagehide", this.#hidden);
    this.#connection?.abort();
    this.#wake();
  }

  async #run(): Promise<void> {
    for (let attempt = 0; !this.#closed; attempt++) {
      this.#say("connecting");
      try {
        if (await this.#read()) attempt = 0;
      } catch (fault) {
        if (fault instanceof ApiError && [401, 403, 404].includes(fault.status)) return this.#say("refused");
      }
      if (this.#closed) return;
      this.#say("lost");
      await this.#pause(delay(attempt, this.#options.random ?? Math.random));
    }
  }

  /** read reads one connection to its end, and reports whether anything came. */
  async #read(): Promise<boolean> {
    const connection = (this.#connection = new AbortController());
    let dog = setTimeout(() => connection.abort(), this.#options.silence);
    const alive = () => {
      clearTimeout(dog);
      dog = setTimeout(() => connection.abort(), this.#options.silence);
    };
    let came = false;
    try {
      const response = await this.#options.open(connection.signal);
      const reader = response.body?.getReader();
      if (!reader) return false;
      const [decoder, parser] = [new TextDecoder(), new Parser()];
      for (;;) {
        const { value, done } = await reader.read();
        if (done || this.#closed) return came;
        alive();
        if (!came) this.#say("live");
        came = true;
        for (const event of parser.push(decoder.decode(value, { stream: true }))) this.#options.event(event);
      }
    } catch (fault) {
      // A connection that broke after it had worked does not count as a failed try.
      if (came && !this.#closed) return true;
      throw fault;
    } finally {
      clearTimeout(dog);
      connection.abort(); // otherwise the unread stream would stay open
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #say(state: FeedState): void {
    if (!this.#closed) this.#options.state(state);
  }
}
