// The clock and the backoff, by their properties.

import { BASE, CAP, delay } from "../../sdk/backoff.ts";
import { ServerClock } from "../../sdk/clock.ts";
import { address } from "../../sdk/address.ts";
import { type Check, dice } from "./world.ts";

export const clock = {
  /** Whatever the network does, and though the clocks drift: the error stays within what the samples allow. */
  theErrorIsBounded(c: Check): void {
    for (let seed = 1; seed <= 40; seed++) {
      const random = dice(seed);
      const drift = 1 + (random() - 0.5) * 1e-4; // up to 50 ppm, either way
      const ahead = (random() - 0.5) * 2e12;
      let local = random() * 1e6;
      const truth = (): number => local * drift + ahead;
      const clock = new ServerClock(() => local);
      let told = -Infinity;
      let least = Infinity; // round trip since the start
      for (let i = 0; i < 200; i++) {
        const [there, back] = [random() ** 4 * 900, random() ** 4 * 900];
        const sent = local;
        local += there;
        const read = Math.floor(truth());
        local += back;
        clock.sample(sent, local, read);
        least = Math.min(least, there + back);
        c.holds(`seed ${seed}: ran backwards at ${i}`, i === 0 || clock.now() >= told);
        local += 400; // until a correction is taken up
        const off = Math.abs(clock.now() - truth());
        const bound = clock.rtt / 2 + 1 + 40;
        if (off > bound) return void c.faults.push(`seed ${seed}: ${off} ms off at ${i}, with a round trip of ${clock.rtt}`);
        told = clock.now();
        local += random() * 20_000;
      }
      c.holds(`seed ${seed}: believes ${clock.rtt} ms where ${least} was to be had`, clock.rtt < 60);
    }
  },

  theLowestRoundTripIsBelieved(c: Check): void {
    let local = 1_000;
    const clock = new ServerClock(() => local);
    c.same("synced before", clock.synced, false);
    c.holds("a guess by the wall clock before", Math.abs(clock.now() - Date.now()) < 1_000);
    clock.sample(1_000, 1_200, 500_100);
    c.same("synced", [clock.synced, clock.rtt], [true, 200]);
    clock.sample(1_300, 1_310, 500_305);
    clock.sample(1_400, 1_900, 500_900);
    local = 3_000;
    c.same("now", clock.now(), 3_000 + 500_305.5 - 1_305);
    local += 3_600_000;
    clock.sample(local - 300, local, local - 150 + 499_000.5 - 0.5);
    c.same("an hour later it may have drifted, and any sample is better", clock.rtt, 300);
  },

  aCorrectionIsTakenUpSmoothly(c: Check): void {
    let local = 0;
    const clock = new ServerClock(() => local);
    clock.sample(0, 300, 10_000); // offset 9,850.5, right to 150
    local = 1_000;
    const before = clock.now();
    clock.sample(990, 1_000, 10_944); // offset 9,949.5
    c.same("it is not seen to hop", clock.now(), before);
    local = 1_200;
    c.same("half of it in half of the time", clock.now(), 1_200 + 9_900);
    local = 1_400;
    c.same("and then all", clock.now(), 1_400 + 9_949.5);
    local = 9_000;
    c.same("for good", clock.now(), 9_000 + 9_949.5);
  },

  aJumpIsBelievedAtOnce(c: Check): void {
    let local = 0;
    const clock = new ServerClock(() => local);
    clock.sample(0, 4, 1_000_000);
    // The machine slept for an hour, and its steady clock stood still. The next round trip is a slow one.
    local = 50;
    c.holds("a time from the server betrays it", clock.doubts(1_000_050 + 3_600_000));
    c.holds("and one that fits does not", !clock.doubts(1_000_050));
    clock.sample(50, 650, 1_000_350 + 3_600_000);
    local = 650;
    c.same("an hour ahead", Math.round(clock.now()), 1_000_650 + 3_600_000 + 1);
    // And back again: the server's clock was set right.
    clock.sample(700, 1_700, 1_001_200);
    local = 1_700;
    c.holds("back", Math.abs(clock.now() - 1_001_700) < 2);
  },
};

export const backoff = {
  jitterIsFull(c: Check): void {
    c.same("the edges", [delay(3, () => 0), delay(0, () => 1), delay(3, () => 1), delay(40, () => 1), delay(5_000, () => 1)], [0, BASE, 8 * BASE, CAP, CAP]);
    const random = dice(7);
    for (const attempt of [0, 2, 9]) {
      const window = delay(attempt, () => 1);
      const tenths = new Array<number>(10).fill(0);
      for (let i = 0; i < 10_000; i++) {
        const tenth = Math.floor((10 * delay(attempt, random)) / window);
        tenths[tenth] = (tenths[tenth] ?? 0) + 1;
      }
      c.holds(`attempt ${attempt}: every tenth of the window gets its share: ${tenths.join()}`, tenths.every((n) => n > 850 && n < 1_150));
    }
  },
};

export const addresses = {
  whereTheSocketIs(c: Check): void {
    c.same("its own", address(undefined), `ws://${location.host}/ws`);
    c.same("relative", address("/x/ws?a=1#b"), `ws://${location.host}/x/ws?a=1`);
    c.same("http", [address("http://a.test/ws"), address("https://a.test/ws"), address(new URL("wss://a.test/ws"))], ["ws://a.test/ws", "wss://a.test/ws", "wss://a.test/ws"]);
    for (const wrong of ["ftp://a.test/", "http://", "data:,x"]) {
      try {
        c.holds(`${wrong} is ${address(wrong)}`, false);
      } catch (fault) {
        c.holds(`${wrong}: ${String(fault)}`, fault instanceof TypeError);
      }
    }
  },
};
