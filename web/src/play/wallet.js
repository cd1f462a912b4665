// What the player has: claims and balance, put together from the socket's messages and the HTTP answers.

// Wallet knows each claim once, whichever way and how often it is told of it.
export class Wallet extends EventTarget {
  balance = null; // minor units in the ledger; null until it is known
  total = 0; // claims that there are on the server
  #claims = new Map(); // claim → {claim, packet, amount, state}, newest last

  // list is the claims that are known here, newest first.
  list() {
    return [...this.#claims.values()].reverse();
  }

  get count() {
    return Math.max(this.total, this.#claims.size);
  }

  // coming is what has been won and is not in the ledger yet.
  get coming() {
    return this.list().reduce((sum, c) => (c.state === "granted" ? sum + c.amount : sum), 0);
  }

  has(claim) {
    return this.#claims.has(claim);
  }

  // reset is for another player.
  reset() {
    this.#claims.clear();
    this.balance = null;
    this.total = 0;
    this.#changed();
  }

  // welcome takes the newest claims of the campaign. They come newest first.
  welcome(claims, total) {
    for (const c of [...claims].reverse()) this.#put(c);
    this.total = Math.max(this.total, total ?? claims.length);
    this.#changed();
  }

  // won takes a result; it says whether the claim was new.
  won({ claim, packet, amount }) {
    const fresh = !this.#claims.has(claim);
    this.#put({ claim, packet, amount, state: "granted" });
    if (fresh) this.total++;
    this.#changed();
    return fresh;
  }

  settled(claims, balance) {
    for (const c of claims) this.#put({ ...c, state: "settled" });
    this.balance = balance;
    this.#changed();
  }

  me(balance) {
    this.balance = balance;
    this.#changed();
  }

  // page takes the player's newest claims of all campaigns, newest first. What it does not hold yet is newer.
  page(items) {
    const newer = this.list().filter((c) => !items.some((i) => i.claim === c.claim));
    const before = this.#claims;
    this.#claims = new Map([...items].reverse().map((i) => [i.claim, before.get(i.claim) ?? i]));
    for (const c of [...items, ...newer].reverse()) this.#put(c);
    this.total = Math.max(this.total, this.#claims.size);
    this.#changed();
  }

  // put never takes a claim back from the ledger: a result may arrive after its settlement.
  #put(c) {
    const known = this.#claims.get(c.claim);
    const state = known && known.state !== "granted" && c.state === "granted" ? known.state : c.state;
    this.#claims.set(c.claim, { ...known, ...c, state });
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }
}
