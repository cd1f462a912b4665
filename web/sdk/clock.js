// The server's clock, as seen from here. Everything that falls is placed by it, so that each player sees
// the same rain whatever their own clock says.

const KEEP = 12; // samples
const MAX_AGE = 120_000; // ms; quartz drifts by some 10 ms in that time

// ServerClock estimates the server's time from round trips. Of the recent samples it believes the one
// with the lowest round trip: the least of its time was spent waiting somewhere.
export class ServerClock {
  #local;
  #samples = [];
  #best = null;

  // local is a steady clock in milliseconds; it never jumps as the wall clock may.
  constructor(local = () => performance.now()) {
    this.#local = local;
  }

  get synced() {
    return this.#best !== null;
  }

  // rtt is the round trip of the sample in use, in ms.
  get rtt() {
    return this.#best?.rtt ?? Infinity;
  }

  local() {
    return this.#local();
  }

  // sample adds what one request has shown: when it left and when its answer came (local times), and what
  // the server's clock read in between (Unix ms, cut to whole ones: hence the half).
  sample(sent, received, serverTime) {
    const rtt = Math.max(0, received - sent);
    this.#samples.push({ rtt, received, offset: serverTime + 0.5 - (sent + received) / 2 });
    this.#samples = this.#samples.filter((s) => received - s.received <= MAX_AGE).slice(-KEEP);
    this.#best = this.#samples.reduce((a, b) => (b.rtt <= a.rtt ? b : a));
  }

  // reset forgets everything but the present estimate: after a sleep the steady clock may have stood still,
  // and any new sample is better than the old ones.
  reset() {
    this.#samples = [];
  }

  // now is the server's time in Unix ms. Before the first sample it is the machine's own guess.
  now() {
    return this.#best ? this.#local() + this.#best.offset : Date.now();
  }
}
