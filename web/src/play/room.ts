// The connection: makes the client, and writes the messages of the server to the model and the wallet.

import { CloseCode, RainClient, type StateMessage } from "../../sdk/index.ts";
import type { Scene } from "../rain/scene.ts";
import { isGuest, mergeNewest } from "../rain/winners.ts";
import type { I18n } from "../shared/i18n.ts";
import { yuan } from "../shared/money.ts";
import type { Session } from "../shared/session.ts";
import type { Announcer } from "./announce.ts";
import type { Hud } from "./hud.ts";
import type { Landing } from "./landing.ts";
import { lobby, named } from "./lobby.ts";
import { begin } from "./login.ts";
import type { Model } from "./model.ts";
import { problemOf } from "./problem.ts";
import type { strings } from "./strings.ts";
import { isOf, type Wallet } from "./wallet.ts";

const WINNERS = 8; // kept for the ticker

/** Around are the parts of the page that the room changes. */
export interface Around {
  model: Model;
  session: Session;
  wallet: Wallet;
  scene: Scene;
  hud: Hud;
  landing: Landing;
  announcer: Announcer;
  i18n: I18n<typeof strings>;
  /** reads the ledger if the socket may have missed messages */
  refresh: () => void;
  /** a win in this campaign whose result was lost */
  unheard: (claim: string, amount: number, luck?: number) => void;
  /** every win so far has been named */
  told: () => void;
  /** the model has changed */
  changed: () => void;
}

/** Room has one client, which moves between campaigns and lives as long as the page. */
export class Room {
  client: RainClient | null = null;
  readonly #around: Around;
  #spreading = false; // the first connection waits for its moment
  #renewed = false; // a new guest was made since the last welcome

  constructor(around: Around) {
    this.#around = around;
  }

  /** now is the server's time, Unix ms. Before the first connection it is this device's. */
  now(): number {
    return this.client?.serverNow() ?? Date.now();
  }

  /**
   * play connects to the campaign, or connects again after a problem. It waits up to spread ms, so that a hall does not
   * connect at one moment.
   */
  play(campaign: string | null, spread = 0): void {
    if (!this.client && campaign) this.client = this.#join(campaign);
    this.#spreading = spread > 0;
    this.client?.connect({ spread });
  }

  #join(campaign: string): RainClient {
    const { model, session, wallet, scene, hud, landing, announcer, i18n, refresh, unheard, told, changed } = this.#around;
    const client = new RainClient({ token: (ask) => session.token(ask), campaign });
    client.on("welcome", (m) => {
      this.#renewed = false;
      const another = model.campaign?.id !== m.campaign.id || model.user !== m.user;
      const missed = another ? [] : m.claims.filter((c) => !wallet.has(c.claim)).reverse();
      if (another) Object.assign(model, { stock: null, winners: [], top: [], since: m.server_time });
      Object.assign(model, { problem: null, campaign: m.campaign, rain: m.rain, user: m.user, profile: { name: m.name, avatar: m.avatar, face: m.face }, away: null, queue: null, packets: m.claims_total - missed.length });
      landing.show(false);
      for (const c of missed) unheard(c.claim, c.amount, c.luck);
      told();
      if (wallet.welcome(m.claims, m.claims_total) || wallet.balance === null) refresh();
      changed();
    });
    client.on("rain", (m) => {
      model.rain = m.rain;
      changed();
    });
    client.on("campaign", (m) => {
      model.campaign = m.campaign;
      changed();
    });
    client.on("wave", (m) => {
      scene.sky.add(m);
      scene.wake();
    });
    client.on("room", (m) => {
      const guests = m.stock_guests; // if guests have packets of their own, the others are for players only
      const stock = guests === undefined ? m.stock : isGuest(model.user) ? guests : m.stock - guests;
      Object.assign(model, { online: m.online, stock, lanes: guests !== undefined, winners: mergeNewest(model.winners, m.winners, WINNERS), top: Array.isArray(m.top) ? m.top : [] });
      changed();
    });
    client.on("settled", (m) => {
      // The message is about all campaigns: wins of another one change the balance, but not this rain's card.
      const here = m.claims.filter((c) => isOf(c.claim, model.campaign?.id ?? "") && !wallet.has(c.claim));
      for (const c of here) unheard(c.claim, c.amount);
      wallet.settled(m.claims, m.balance);
      hud.bump();
    });
    client.on("withdrawal", (m) => {
      const { amount, state } = m.withdrawal;
      if (!wallet.withdrawal(m.withdrawal, m.balance)) return;
      if (m.withdrawal.stage === "action_required") announcer.say(i18n.t("w_announce_action", { amount: yuan(amount) }));
      if (state === "pending") return;
      announcer.say(i18n.t(`w_announce_${state === "paid" ? wallet.paid : "failed"}`, { amount: yuan(amount) }));
    });
    client.on("waiting", ({ position, wait_ms = 0 }) => {
      landing.show(false);
      model.queue = { position, till: wait_ms > 0 ? this.now() + wait_ms : 0 };
      model.away = null;
      if (!model.about) void lobby(client.campaign).then((about) => (model.about ??= about), () => {}).then(changed); // the event's name, for the queue
      changed();
    });
    client.on("tick", changed);
    client.on("state", (m) => this.#state(m));
    return client;
  }

  // state follows the socket: it shows a banner while the socket reconnects, and a problem when it has ended for good.
  #state({ state, code = 0, retryIn = 0 }: StateMessage): void {
    const { model, changed } = this.#around;
    if (state !== "waiting") this.#spreading = false;
    else model.away = model.queue || this.#spreading ? null : performance.now() + retryIn; // a wait in the queue is no fault
    if (state === "ended") this.#ended(code);
    changed();
  }

  /**
   * again offers players with an expired sign-in to log in, or to go on as guests if guests are allowed. In WeChat it
   * logs them in.
   */
  async again(): Promise<void> {
    const { model, landing } = this.#around;
    const problem = model.problem;
    const about = await lobby(this.client?.campaign ?? named()).catch(() => null);
    if (!about || model.problem !== problem || begin(about.logins)) return;
    landing.know(about.logins, about.names);
    if (about.guests) landing.asGuest();
  }

  #ended(code: number): void {
    const { model, session, wallet, landing } = this.#around;
    model.away = model.queue = null;
    model.winners = [];
    if (code === CloseCode.badToken && session.guest && !this.#renewed) {
      // A guest is only a name, so the page takes another one. It does so once, because the server may refuse every
      // guest.
      this.#renewed = true;
      session.forget();
      wallet.reset();
      this.client?.connect();
      return;
    }
    if (code === CloseCode.badToken || code === CloseCode.expired) session.forget();
    const problem = problemOf(code, session.refusal);
    model.problem = problem;
    landing.show(!!problem.signin, false, problem.retry);
    if (problem.signin && problem.title !== "ended_invited") void this.again();
  }
}
