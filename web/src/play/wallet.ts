// The player's claims, balance and withdrawals, merged from the socket's messages and the HTTP answers.

import type { Claim, Withdrawal } from "../../sdk/index.ts";
import type { Balance } from "../shared/schemas.ts";

type Payout = NonNullable<Balance["payout"]>;

/**
 * Entry is a claim, maybe incomplete: a settlement has no packet, and only the list has the time of the win (Unix ms).
 */
export type Entry = Omit<Claim, "packet"> & { packet?: string; at?: number };

/** isOf reports whether a claim belongs to a campaign: its id contains the campaign and the packet. An id of another
 * form counts as belonging. */
export function isOf(claim: string, campaign: string): boolean {
  const at = claim.search(/-\d+$/);
  return at < 0 || claim.slice(0, at) === campaign;
}

/** Wallet holds each claim and each withdrawal once, even if it arrives again. It emits `change`. */
export class Wallet extends EventTarget {
  /** minor units in the ledger; null if unknown */
  balance: number | null = null;
  /** destination of a withdrawal, from the server */
  payout: Payout | null = null;

  /** paid is the meaning of a paid withdrawal: if the organizer pays separately, it is not money yet. */
  get paid(): "paid" | "paid_wallet" {
    return this.payout?.provider === "wallet" ? "paid_wallet" : "paid";
  }
  /** number of messages with the balance: an answer to an earlier request is older */
  told = 0;
  /** the withdrawals are loaded: any other one is new */
  listed = false;
  /** number of claims on the server */
  total = 0;
  #claims = new Map<string, Entry>(); // newest last
  readonly #withdrawals = new Map<string, Withdrawal>();

  /** list returns the known claims, newest first. */
  list(): Entry[] {
    return [...this.#claims.values()].reverse();
  }

  get count(): number {
    return Math.max(this.total, this.#claims.size);
  }

  /** coming returns the sum of wins that are not in the ledger yet. */
  get coming(): number {
    return this.list().reduce((sum, c) => (c.state === "granted" ? sum + c.amount : sum), 0);
  }

  /** amounts returns the known wins of a campaign. */
  amounts(campaign: string): number[] {
    return this.list().filter((c) => isOf(c.claim, campaign)).map((c) => c.amount);
  }

  has(claim: string): boolean {
    return this.#claims.has(claim);
  }

  /** withdrawals returns the known withdrawals, newest first. */
  withdrawals(): Withdrawal[] {
    return [...this.#withdrawals.values()].sort((a, b) => b.created_at - a.created_at);
  }

  /** reset clears it for another player. */
  reset(): void {
    this.#claims.clear();
    this.#withdrawals.clear();
    this.balance = null;
    this.listed = false;
    this.total = 0;
    this.#changed();
  }

  /**
   * welcome takes the newest claims of the campaign. They come newest first. It reports whether some were settled while
   * the page was disconnected: then the balance is stale.
   */
  welcome(claims: readonly Claim[], total = claims.length): boolean {
    const missed = claims.some((c) => c.state === "settled" && this.#claims.get(c.claim)?.state !== "settled");
    for (const c of [...claims].reverse()) this.#put(c);
    this.total = Math.max(this.total, total);
    this.#changed();
    return missed;
  }

  /** won takes a result, and reports whether the claim is new. */
  won({ claim, packet, amount }: Pick<Claim, "claim" | "packet" | "amount">): boolean {
    const fresh = !this.#claims.has(claim);
    this.#put({ claim, packet, amount, state: "granted" });
    if (fresh) this.total++;
    this.#changed();
    return fresh;
  }

  settled(claims: readonly { claim: string; amount: number }[], balance: number): void {
    for (const c of claims) this.#put({ ...c, state: "settled" });
    this.told++;
    this.me(balance);
  }

  me(balance: number): void {
    this.balance = balance;
    this.#changed();
  }

  /** page takes the player's newest claims of all campaigns, newest first. Claims missing in it are newer. */
  page(items: readonly Claim[]): void {
    const newer = this.list().filter((c) => !items.some((i) => i.claim === c.claim));
    const before = this.#claims;
    this.#claims = new Map([...items].reverse().map((i) => [i.claim, { ...i, ...before.get(i.claim) }]));
    for (const c of [...items, ...newer].reverse()) this.#put(c);
    this.total = Math.max(this.total, this.#claims.size);
    this.#changed();
  }

  /** withdrawal takes a withdrawal's state, and reports whether it is news. A final state never becomes pending again. */
  withdrawal(w: Withdrawal, balance?: number): boolean {
    const known = this.#withdrawals.get(w.withdrawal);
    const stale = known !== undefined && known.state !== "pending" && w.state === "pending";
    if (!stale) this.#withdrawals.set(w.withdrawal, w);
    if (balance !== undefined && !stale) {
      this.told++;
      this.balance = balance;
    }
    this.#changed();
    return !stale && (known?.state !== w.state || known.stage !== w.stage);
  }

  // put never takes a claim back from the ledger: a result may arrive after its settlement.
  #put(c: Entry): void {
    const known = this.#claims.get(c.claim);
    const state = known && known.state !== "granted" && c.state === "granted" ? known.state : c.state;
    this.#claims.set(c.claim, { ...known, ...c, state });
  }

  #changed(): void {
    this.dispatchEvent(new Event("change"));
  }
}
