// "Check my luck" after a rain with draws: it computes each beat of the player again from the revealed seed.

import { checkLuck, type Fairness, type LuckOf, type OwnClaim, type Rain } from "../../sdk/index.ts";
import { ApiError, request } from "../shared/api.ts";
import { I18n, type Values } from "../shared/i18n.ts";
import { within } from "../shared/patience.ts";
import type { Session } from "../shared/session.ts";
import { byId, write } from "../play/dom.ts";
import type { strings } from "../play/strings.ts";
import { luck } from "./strings.ts";

const PATIENCE = 15_000; // ms for an answer
const PAGE = 500; // claims of one request

type Said = keyof typeof luck;

/** Parts are the parts of the page that the check needs. */
export interface Parts {
  i18n: I18n<typeof strings>;
  session: Session;
  user: () => string;
  /** the player has all packets that one may win */
  full: () => boolean;
}

/**
 * verdict accounts for each beat of a rain until it ended (Unix ms of the server). A lucky beat without a packet came
 * after the player's last possible win, or it had no tap in time, or no packet was left for it.
 */
export function verdict({ beats, honest, ungranted }: LuckOf, ended: number, full: boolean, commitment = ""): [Said, Values] {
  if (!honest) return ["luck_unfair", { claims: ungranted.join(", ") || commitment }];
  const drawn = beats.filter((b) => b.at < ended);
  const last = drawn.reduce((found, b, i) => (b.claim ? i : found), -1);
  // A node may still use the previous odds. Its grants may be unlucky by the newer ones, and count as lucky.
  const [lucky, won] = [drawn.filter((b) => b.lucky || b.claim).length, drawn.filter((b) => b.claim).length];
  const after = full ? drawn.filter((b, i) => b.lucky && i > last).length : 0;
  const missed = lucky - won - after;
  const rest = after && missed ? "luck_both" : after ? "luck_full" : missed ? "luck_missed" : "luck_fair";
  return [rest, { n: drawn.length, lucky, won, rest: lucky - won, after, missed }];
}

/** LuckCheck is a button on the card of a rain, and its result. */
export class LuckCheck {
  readonly #parts: Parts;
  readonly #button = byId("card-luck", HTMLButtonElement);
  readonly #said = byId("card-luck-said");
  #rains: Rain[] = []; // newest first, as they were announced
  #shown = "";

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#button.addEventListener("click", () => void this.#check());
  }

  /** note keeps a rain with its first announced commitment, and its newest end. */
  note(rain: Rain): void {
    const known = this.#rains.find((r) => r.id === rain.id);
    if (known) known.ends_at = rain.ends_at;
    else this.#rains = [rain, ...this.#rains].slice(0, 2);
  }

  /** show offers the check of a rain if it has draws. */
  show(id: string): void {
    if (this.#shown !== id) write(this.#said, "");
    this.#shown = id;
    const rain = this.#rains.find((r) => r.id === id);
    this.#button.hidden = !rain || rain.odds === undefined || rain.odds === 1;
  }

  async #check(): Promise<void> {
    const rain = this.#rains.find((r) => r.id === this.#shown);
    if (!rain || this.#button.disabled) return;
    this.#button.disabled = true;
    try {
      const said = await this.#find(rain);
      if (this.#shown === rain.id) this.#say(...said);
    } catch (fault) {
      this.#say(fault instanceof ApiError && fault.status === 404 ? "luck_gone" : "luck_failed");
    } finally {
      this.#button.disabled = false;
    }
  }

  async #find(rain: Rain): Promise<[Said, Values?]> {
    const { session, user, full } = this.#parts;
    const token = await session.token();
    const signal = within(PATIENCE);
    const fairness = await request<Fairness>(`/campaigns/${rain.campaign}/rains/${rain.id}/fairness`, { signal });
    const claims: OwnClaim[] = [];
    for (let cursor = ""; ; ) {
      const page = await request<{ items: (OwnClaim & { at: number })[]; next_cursor?: string }>(`/me/claims?limit=${PAGE}${cursor}`, { token, signal });
      claims.push(...page.items);
      if (!page.next_cursor || (page.items[page.items.length - 1]?.at ?? 0) < rain.starts_at) break;
      cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
    }
    const found = checkLuck(fairness, user(), claims, rain.commitment);
    return found ? verdict(found, rain.ends_at, full(), fairness.commitment) : ["luck_wait"];
  }

  #say(key: Said, values?: Values): void {
    write(this.#said, new I18n(luck, this.#parts.i18n.lang).t(key, values));
  }
}
