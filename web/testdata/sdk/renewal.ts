// How the client stays longer than its token is good.

import { CloseCode } from "../../sdk/index.ts";
import { type Check, states, type World } from "./world.ts";

/** expiring has the server's tokens be good for some ms from when they are shown. */
function expiring(w: World, ms: number): void {
  w.greet = (m) => w.welcome(m, { token_expires_at: w.serverTime() + ms });
  w.renew = (m) => ({ type: "token_renewed", id: m.id, token_expires_at: w.serverTime() + ms });
}

/** counting gives t1, t2, …, and notes down what was asked. */
function counting(): { asks: boolean[]; token: (ask: { renew: boolean }) => string } {
  const asks: boolean[] = [];
  return { asks, token: ({ renew }) => `t${asks.push(renew)}` };
}

export const renewal = {
  async itRenewsBeforeTheEnd(c: Check, w: World): Promise<void> {
    expiring(w, 100_000);
    const { asks, token } = counting();
    const { client, line } = await w.open({ token });
    await w.pass(84_000);
    c.same("not yet", line.of("token").length, 0);
    await w.pass(2_000);
    c.same("at three quarters of a fifth before", line.of("token").map((m) => m.token), ["t2"]);
    await w.pass(86_000);
    c.same("and again", line.of("token").map((m) => m.token), ["t2", "t3"]);
    c.same("what was asked", [asks, w.lines.length, client.state], [[false, true, true], 1, "open"]);
    await w.pass(20_000);
    client.join("c2"); // its welcome says again what is known
    await w.pass(30);
    c.same("nothing is asked twice", line.of("token").length, 2);
    client.close();
    c.same("timers", w.waiting, 0);
  },

  async itSendsATokenWithAnotherName(c: Check, w: World): Promise<void> {
    let token = "t1";
    const { client, line } = await w.open({ token: () => token });
    await client.renew();
    c.same("nothing new", line.of("token").length, 0);
    token = "t2";
    await client.renew();
    c.same("once", line.of("token").map((m) => m.token), ["t2"]);
    client.close();
    token = "t3";
    await client.renew();
    c.same("and nothing after the end", line.of("token").length, 1);
  },

  async aFixedTokenIsNotRenewed(c: Check, w: World): Promise<void> {
    expiring(w, 10_000);
    const { client, line } = await w.open();
    await w.pass(9_900);
    line.drop(CloseCode.expired);
    c.same("it ends", [client.state, line.of("token").length], ["ended", 0]);
    const same = await w.open({ token: () => "t1" });
    const seen = states(same.client);
    await w.pass(9_900);
    c.same("the same token is not sent again", same.line.of("token").length, 0);
    same.line.drop(CloseCode.expired);
    const lines = w.lines.length;
    await w.pass(60_000);
    c.same("and the client does not come back with it", [seen.at(-1), w.lines.length], [{ state: "ended", code: 4507 }, lines]);
  },

  async itComesBackWithANewToken(c: Check, w: World): Promise<void> {
    const { asks, token } = counting();
    const { client, line } = await w.open({ token });
    const tap = client.tap("7.0");
    w.judge = () => ({ outcome: "empty" });
    line.drop(CloseCode.expired);
    c.same("it waits", client.state, "waiting");
    await w.pass(1_000);
    c.same("it is back", [client.state, w.line.sent[0]?.token, asks], ["open", "t2", [false, true]]);
    await w.pass(200);
    c.same("with its tap", (await tap).outcome, "empty");
    client.close();
  },

  async whatFailsIsTriedAgain(c: Check, w: World): Promise<void> {
    expiring(w, 100_000);
    let asks = 0;
    const { client, line } = await w.open({ token: () => {
      if (++asks === 2) throw new Error("away");
      return `t${asks}`;
    } });
    const taken = w.renew;
    w.renew = (m) => ({ type: "error", id: m.id, code: "unavailable", message: "", retryable: true });
    await w.pass(92_000); // at 85 s, and 5 s later
    c.same("sent, and refused for now", [asks, line.of("token").length], [3, 1]);
    w.renew = taken;
    await w.pass(6_000);
    c.same("sent again", [line.of("token").length >= 2, client.state], [true, "open"]);
    w.renew = (m) => ({ type: "error", id: m.id, code: "bad_token", message: "", retryable: false });
    await w.pass(99_000);
    const sent = line.of("token").length;
    await w.pass(60_000);
    c.same("one that is refused for good is not", line.of("token").length, sent);
    client.close();
    c.same("timers", w.waiting, 0);
  },
};
