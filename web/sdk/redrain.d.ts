// Types of redrain.js, the client of a redrain server (protocol redrain.v1). docs/build/sdk.md describes its use.
//
// Units, everywhere: money is an integer in minor units (分, cents); a moment is Unix milliseconds on the server's clock;
// a name that ends in `_ms` (or `retryIn`, `rtt`) is a duration in milliseconds. Fields that a newer server adds are
// passed on untouched, and messages that this client does not know are ignored.

/** How a client is made. */
export interface RainClientOptions {
  /** The socket, absolute or relative to the page; http(s) is taken as ws(s). Default: `/ws` of this page's origin. Outside a page it is required. */
  url?: string | URL;
  /**
   * The player's token, or what gives it. A function is asked anew before each connection, and with `renew` shortly before the
   * token expires, so that the connection goes on with a new one, and after it has. If it throws, the client tries again later; unless the error has a `status` from 400 to 499 (but 408, 425 or
   * 429), which ends the client with that status as `code`: the API has refused for good.
   */
  token: string | ((ask: { renew: boolean }) => string | Promise<string>);
  /** Id of the campaign to play in. */
  campaign: string;
  /** Only watch, like a big screen: the client gets all messages, taps are refused (the error `watching`), and it does
   * not count as a player. */
  watch?: boolean;
  /** The WebSocket class if there is no global one (Node before 22: that of package `ws`). */
  WebSocket?: new (url: string, protocol: string) => WebSocket;
  /** Asks for the turn in a waiting room; the global fetch is the default. Without one the client asks at the socket. */
  fetch?: typeof fetch | undefined;
  /** The source of jitter, for tests. Defaults to Math.random. */
  random?: () => number;
  /** A steady clock in milliseconds, as performance.now, which is the default. For tests. */
  steady?: () => number;
}

/**
 * The state of the client.
 * - `idle`: not begun.
 * - `connecting`: asks for the token, opens the socket, and waits for the server's welcome.
 * - `open`: in the room.
 * - `waiting`: the connection is lost; the next try comes after `retryIn`.
 * - `ended`: for good. connect() begins again.
 */
export type RainClientState = "idle" | "connecting" | "open" | "waiting" | "ended";

/** Close codes after which the client ends, with texts for the player. */
export declare const CloseCode: {
  /** The token is too long: a `hello` has 12 KiB at most. */
  readonly tooLarge: 1009;
  /** The player has come in too often elsewhere, and the newest connections stay. */
  readonly elsewhere: 4004;
  /** The token is not valid: sign in again. */
  readonly badToken: 4500;
  /** Not understood: this client is too old or too new for the server. */
  readonly protocol: 4501;
  /** There is no such campaign. */
  readonly unknownCampaign: 4502;
  /** Too many bad messages. */
  readonly tooManyBad: 4504;
  /** The page's origin is not allowed (`--allowed-origins`). */
  readonly origin: 4505;
  /** An operator has ended the player's connections, or has banned the player. */
  readonly sentAway: 4506;
  /** The token has expired, and there is no newer one: `token` is no function, or gives the same one again. */
  readonly expired: 4507;
  /** The campaign is for the players on its list, and this one is not on it. */
  readonly notInvited: 4508;
};

/** Something that falls. */
export interface Drop {
  /** Its id, "wave.index", unique in the campaign. */
  id: string;
  /** Horizontal position on the screen, 0 to 1000. */
  x: number;
  /** A decoy pays nothing, and should look different. */
  kind: "packet" | "decoy";
  /** When it appears at the top. Do not show it before. */
  at: number;
  /** How long it falls; it has landed at `at + fall_ms`. */
  fall_ms: number;
}

/**
 * The server's decision about a tap.
 * - `won`: amount, packet and claim come with it.
 * - `empty`: not this one: a decoy, or no packet is released yet. Another drop may win.
 * - `already`: the player has all the wins that one player may have.
 * - `sold_out`: no packets are left that this player could win.
 * - `limited`: the player has used up the campaign's taps, or the guests of their address what they may win together.
 * - `late`: it has landed. `unknown_drop`: there is no such drop, or not yet. `not_open`: no rain falls, or it is paused.
 * - `too_fast`: faster than the server takes taps. `unavailable`: nothing is known to be decided.
 */
export type Outcome =
  "won" | "already" | "sold_out" | "not_open" | "limited" | "empty" | "late" | "unknown_drop" | "too_fast" | "unavailable";

/** The answer to a tap that won. */
export interface TapWon {
  /** Id of the drop. */
  drop: string;
  outcome: "won";
  /** What was won. */
  amount: number;
  /** The packet's number in the split, unique in the campaign. */
  packet: string;
  /** Id of the claim, unique everywhere. The same claim twice is the same win. */
  claim: string;
  /** Percentage of the campaign's packets with a smaller amount, rounded down; also 0 if the server does not send it. */
  luck: number;
  retryable: false;
}

/** The answer to a tap that did not win, as far as is known. */
export interface TapLost {
  /** Id of the drop. */
  drop: string;
  /** `error`: the server refused the message; `code` and `message` say why. */
  outcome: Exclude<Outcome, "won"> | "error";
  /**
   * Whether to offer the same drop for another tap: nothing was decided (`unavailable`, `too_fast`, some errors) and the
   * drop may still be in the air. The client does not tap again by itself: that is the player's to do.
   */
  retryable: boolean;
  /** Stable code of an error. */
  code?: string;
  /** The error in words for a developer. */
  message?: string;
}

/** The answer to a tap. */
export type TapResult = TapWon | TapLost;

/** A campaign as a player sees it. */
export interface Campaign {
  id: string;
  name: string;
  state: "ready" | "raining" | "paused" | "closed";
  /** All the money in it. */
  budget: number;
  /** How many packets it was split into. */
  packets: number;
  /** How many packets one player may win, over all its rains. */
  wins_per_user: number;
  /** How many taps one player has; 0: no limit. */
  taps_per_user: number;
  expires_at: number;
  /** Whether it is closed and everything of it is in the ledger. */
  drained?: boolean;
}

/** A rain. Drops appear from starts_at until starts_at + duration_ms; the last may land at ends_at. */
export interface Rain {
  id: string;
  /** Id of its campaign. */
  campaign: string;
  phase: "countdown" | "falling" | "paused" | "ended";
  starts_at: number;
  ends_at: number;
  duration_ms: number;
  drops_per_second: number;
  /** The longest fall time of a drop, in ms. Each drop has its own fall_ms. */
  fall_ms: number;
  decoy_percent: number;
  pacing: "even" | "none";
  /** the chance of a player's one draw in each beat; 1: every packet drop can win */
  odds: number | "auto";
  /** the length of a beat */
  beat_ms: number;
  /** Number of its first wave. */
  first_wave: number;
  /** SHA-256 of the seed, in hex, to verify the rain by when the seed is revealed. */
  commitment: string;
}

/** A win. `granted` until the ledger has it, then `settled`. */
export interface Claim {
  claim: string;
  packet: string;
  amount: number;
  state: "granted" | "settled" | "failed" | "dead";
  /** As in TapWon; left out if it is 0 or unknown. */
  luck?: number;
  /** It is granted, and a person checks it before it is money. */
  held?: boolean;
}

/** A winner, under a masked id. */
export interface Winner {
  user: string;
  /** By which people know them, where the server shows it: others' words, so write it as text and never as HTML. */
  name?: string;
  /** Address of a picture of them (https), where the server shows it. */
  avatar?: string;
  /** A guest's picture: the server has it as /sdk/faces/koi.svg. */
  face?: string;
  amount: number;
}

/** A withdrawal from the player's account. */
export interface Withdrawal {
  /** Its id. */
  withdrawal: string;
  user: string;
  amount: number;
  /** `failed`: refused for good, and the money is back in the account. */
  state: "pending" | "paid" | "failed";
  /** The state more exactly; servers of before have none. `action_required`: the player has to confirm, see action. */
  stage?: "requested" | "held" | "sent" | "action_required" | "paid" | "refused" | "returned";
  created_at: number;
  /** When it was paid or failed. */
  finished_at?: number;
  /** The payment provider's name for it. */
  reference?: string;
  /** Why it has failed. */
  reason?: string;
  /**
   * The player's action before the payment, by its kind: "url": open the address; "data": pass the data to the
   * provider's own app; "wechat": call requestMerchantTransfer in WeChat.
   */
  action?: {
    kind: "url" | "data" | "wechat";
    url?: string;
    data?: string;
    mch_id?: string;
    app_id?: string;
    package?: string;
    expires_at?: number;
  };
}

/** The client has changed its state. */
export interface StateMessage {
  state: RainClientState;
  /**
   * With `waiting` and `ended`: why. The socket's close code; 0 where the line was given up from here; with `ended` also
   * an HTTP status of the token function; 1000 after close().
   */
  code?: number;
  /** With `waiting`: the time until the next try. */
  retryIn?: number;
}

/** The player is in the room: after each (re)connection and each join. Everything in it replaces what was known before. */
export interface WelcomeMessage {
  type: "welcome";
  /** The player's id, of the token. */
  user: string;
  /** The player's own name and picture as others see them, where the server shows them; see Winner. */
  name?: string;
  avatar?: string;
  face?: string;
  server_time: number;
  campaign: Campaign;
  /** The newest rain; null if none was ever scheduled. */
  rain: Rain | null;
  /** The 100 newest wins of the campaign, newest first. */
  claims: Claim[];
  /** How many wins there are. */
  claims_total: number;
  /** taps_per_second 0: no limit. */
  limits: { taps_per_second: number };
  /** Expiry of the token, if the server sends it. The client renews it if `token` is a function. */
  token_expires_at?: number;
}

/** A rain was scheduled, or its phase has changed. */
export interface RainMessage {
  type: "rain";
  rain: Rain;
}

/** The campaign has changed. */
export interface CampaignMessage {
  type: "campaign";
  campaign: Campaign;
}

/** Drops that will appear, a moment ahead. */
export interface WaveMessage {
  type: "wave";
  /** Id of the rain. */
  rain: string;
  /** Number of the wave. */
  n: number;
  /** When its drops appear. */
  at: number;
  drops: Drop[];
}

/** The answer to a tap as it came; tap() answers with the same, and only once. */
export interface ResultMessage {
  type: "result";
  id: number;
  drop: string;
  outcome: Outcome;
  amount?: number;
  packet?: string;
  claim?: string;
  luck?: number;
}

/** Wins have become money. News, not a ledger: ask `/api/v1/me` for the balance that counts. */
export interface SettledMessage {
  type: "settled";
  claims: { claim: string; amount: number }[];
  /** The account after them. */
  balance: number;
}

/** The room's figures, once a second. */
export interface RoomMessage {
  type: "room";
  /** When they were taken. */
  t: number;
  /** Connections in the room that play, over all nodes. */
  online: number;
  /** Packets left. */
  stock: number;
  /** The guests' part of the stock; left out if guests and players share it. */
  stock_guests?: number;
  /** Packets won. */
  won: number;
  /** The sum of the won packets, if the server sends it. */
  amount_won?: number;
  /** The newest winners, newest first. */
  winners: Winner[];
  /** The greatest winners, if the server sends them. */
  top?: Winner[];
  /** Players in the waiting room; left out if it is empty. */
  waiting?: number;
}

/** A withdrawal of the player was paid, has failed, or needs something of them (its stage `action_required`). It may
 * come twice; a disconnected player does not get it. */
export interface WithdrawalMessage {
  type: "withdrawal";
  withdrawal: Withdrawal;
  /** The account after it. */
  balance: number;
}

/** The server has refused a message. Those of a tap are its promise's answer as well. */
export interface ErrorMessage {
  type: "error";
  id?: number | string | null;
  code: string;
  message: string;
  retryable: boolean;
  /** With `not_admitted`, of a `join`: when the client tries again. */
  retry_after_ms?: number;
}

/** The server is about to close the connection; the client comes back by itself. */
export interface GoodbyeMessage {
  type: "goodbye";
  reason: string;
  reconnect_after_ms: number;
  /** With the reason `waiting`: the place in the waiting room. The event `waiting` follows. */
  position?: number;
  wait_ms?: number;
}

/** The room is full: the player has a place in the waiting room, which the client keeps by asking again in time. */
export interface WaitingMessage {
  type: "waiting";
  /** From 1. */
  position: number;
  /** When the client asks again. */
  retry_after_ms: number;
  /** Estimated duration by earlier ones; left out if it is unknown. */
  wait_ms?: number;
}

/** The clock has learnt something: serverNow() is more exact than before. */
export interface TickMessage {
  /** Round trip of the sample in use. */
  rtt: number;
}

/** The argument of each event's listener. */
export interface RainClientEvents {
  state: StateMessage;
  welcome: WelcomeMessage;
  rain: RainMessage;
  campaign: CampaignMessage;
  wave: WaveMessage;
  result: ResultMessage;
  settled: SettledMessage;
  room: RoomMessage;
  withdrawal: WithdrawalMessage;
  error: ErrorMessage;
  goodbye: GoodbyeMessage;
  waiting: WaitingMessage;
  tick: TickMessage;
}

/**
 * A player's connection to one campaign's room. It keeps itself up, and answers each tap exactly once.
 *
 * @example
 * const client = new RainClient({ token, campaign: "demo" });
 * client.on("wave", ({ drops }) => drops.forEach(show));
 * client.connect();
 * const result = await client.tap("7.3");
 */
export declare class RainClient {
  /** @throws TypeError where `url` is no address, or is missing outside a page. */
  constructor(options: RainClientOptions);

  /** Whether the client ends after this close code (1009, 4004, and 4500 to 4599; not after 4501 with the reason "no hello in time"). After every other it comes back, and after 4507 with a new token if there is one. */
  static isFinal(code: number, reason?: string): boolean;

  /** The state of the client. */
  readonly state: RainClientState;
  /** Id of the campaign that it plays in, or is joining. */
  readonly campaign: string;
  /** Whether serverNow() is the server's time, and not yet a guess by this machine's clock. It stays true through reconnects. */
  readonly synced: boolean;
  /** Round trip of the clock's sample in use, in ms; half of it is how far off serverNow() can be. Infinity before the first. */
  readonly rtt: number;

  /** The server's time now: Unix ms, with fractions. Once `synced`, this machine's wall clock has no part in it. */
  serverNow(): number;

  /** Begins, and begins again after the end. While waiting, it shortens the wait unless the server has asked for it.
   * `spread`: begins at a random moment within so many milliseconds, for pages that all begin at once (at a countdown). */
  connect(options?: { spread?: number }): void;

  /** Ends it: closes the socket, answers what is in flight with `unavailable`, and leaves no timer or listener of its own behind. Listeners of on() stay. */
  close(): void;

  /**
   * Moves to another campaign's room; its `welcome` says when it is there. Taps in flight are answered with
   * `unavailable`. If there is no such campaign, an `error` event reports it and the client stays where it was. On a
   * new connection the client ends with 4502 instead.
   */
  join(campaign: string): void;

  /**
   * Asks the token function for the token, and sends it if the server has not seen it: when the player has got another name.
   * It rejects as the function does.
   */
  renew(): Promise<void>;

  /**
   * Taps a drop. The promise never rejects, and settles exactly once: with the server's answer, or with `unavailable`
   * if none can come any more. A drop that is in flight has one promise, however often it is tapped. A tap without an
   * answer is sent again after a reconnect; the server gives the same win for it, so it counts once.
   */
  tap(drop: string | Drop): Promise<TapResult>;

  /**
   * Listens to an event. The answer is a function that takes the listener away; so does `signal`. A listener that throws is
   * reported (reportError) and disturbs neither the others nor the client.
   */
  on<K extends keyof RainClientEvents>(type: K, listener: (event: RainClientEvents[K]) => void, options?: { signal?: AbortSignal }): () => void;
}

/** The answer of `GET /api/v1/campaigns/{campaign}/rains/{rain}/fairness`, as far as checkLuck reads it. */
export interface Fairness {
  /** SHA-256 of the seed, in hex. */
  commitment: string;
  /** Hex; there after the end. */
  seed?: string;
  schedule: {
    campaign: string;
    starts_at: number;
    first_wave: number;
    waves: number;
    odds: number | "auto";
    beat_ms: number;
    /** With the odds "auto": those that were set, each from its beat on. */
    odds_record?: readonly { beat: number; odds: number }[];
    /** The same for guests, where they have a part of the packets for themselves. */
    guests_odds_record?: readonly { beat: number; odds: number }[];
  };
}

/** A claim of `GET /api/v1/me/claims`, as far as checkLuck reads it. */
export interface OwnClaim {
  claim: string;
  ticket?: string;
}

/** The result of checkLuck. */
export interface LuckOf {
  beats: { beat: number; at: number; odds: number; lucky: boolean; claim?: string }[];
  /** How many of the beats were lucky. */
  lucky: number;
  /** Claims that the seed did not grant. */
  ungranted: string[];
  /** Whether the seed is the one that was announced, and has granted every claim. */
  honest: boolean;
}

/**
 * Recomputes each beat of a player in an ended rain from its revealed seed, and compares the player's claims with them. `commitment` is
 * the one that you noted in the countdown. Null before the seed is revealed, and for rains in which every packet can win.
 */
export declare function checkLuck(fairness: Fairness, user: string, claims: readonly OwnClaim[], commitment?: string): LuckOf | null;
