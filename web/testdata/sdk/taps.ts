// Each tap is answered once, whatever happens to the line.

import type { Drop, TapResult } from "../../sdk/index.ts";
import { type Check, type Wire, type World } from "./world.ts";

const WON = { outcome: "won", amount: 88, packet: "17", claim: "c1-17", luck: 63 };

export const taps = {
  async results(c: Check, w: World): Promise<void> {
    w.judge = () => WON;
    const { client, line } = await w.open();
    const [a, b] = [client.tap("7.0"), client.tap("7.0")];
    c.holds("one promise for a drop in flight", a === b);
    c.same("won", await answer(w, a), { drop: "7.0", ...WON, retryable: false });
    c.same("one message", line.of("tap").length, 1);
    for (const [outcome, retryable] of [
      ["already", false], ["sold_out", false], ["not_open", false], ["limited", false], ["empty", false], ["late", false], ["unknown_drop", false],
      ["too_fast", true], ["unavailable", true], ["of_a_newer_server", false],
    ] as const) {
      w.judge = () => ({ outcome });
      c.same(outcome, await answer(w, client.tap("7.1")), { drop: "7.1", outcome, retryable });
    }
    w.judge = () => null;
    const refused = client.tap("x");
    line.say({ type: "error", id: line.of("tap").at(-1)?.id, code: "malformed", message: "no drop", retryable: false });
    c.same("error", await answer(w, refused), { drop: "x", outcome: "error", code: "malformed", message: "no drop", retryable: false });
    line.say({ type: "error", id: null, code: "malformed", message: "of nobody", retryable: false });
    client.close();
  },

  async aTapInFlightIsSentAgainAndAnsweredOnce(c: Check, w: World): Promise<void> {
    const { client, line } = await w.open();
    const results: string[] = [];
    const tap = (drop: string): void => void client.tap(drop).then((r) => results.push(`${r.drop} ${r.outcome}`));
    for (let k = 0; k < 5; k++) tap(`7.${k}`);
    await w.pass(20);
    line.say({ type: "result", id: line.of("tap")[1]?.id, drop: "7.1", outcome: "empty" });
    line.drop(1006);
    tap("8.0"); // while away
    const again = client.tap("7.0");
    c.holds("tapped once more, it is the same tap", again === client.tap("7.0"));
    w.judge = (m) => (m.drop === "7.2" ? WON : { outcome: "late" });
    await w.pass(500);
    const back = w.now;
    await w.pass(40);
    c.same("none goes before the welcome", w.line.sent[0]?.type, "hello");
    await w.pass(1_000);
    c.same("sent again", w.line.of("tap").map((m) => m.drop), ["7.0", "7.2", "7.3", "7.4", "8.0"]);
    c.same("answers", results, ["7.1 empty", "7.0 late", "7.2 won", "7.3 late", "7.4 late", "8.0 late"]);
    c.holds(`at a pace that the server takes: ${w.now - back} ms`, w.lines.length === 2);
    w.line.say({ type: "result", id: line.of("tap")[0]?.id, drop: "7.0", outcome: "won", amount: 1, packet: "1", claim: "1" });
    await w.pass(10);
    c.same("a second answer is none", results.length, 6);
    client.close();
  },

  async manyLinesBreakAndEachTapIsAnsweredOnce(c: Check, w: World): Promise<void> {
    const { client } = await w.open();
    const answers = new Map<string, number>();
    w.judge = () => (w.lines.length < 6 ? null : { outcome: "empty" });
    for (let i = 0; i < 40; i++) {
      void client.tap(`9.${i}`).then((r) => answers.set(r.drop, (answers.get(r.drop) ?? 0) + 1));
      if (i % 8 === 7) {
        w.line.drop(4001);
        await w.pass(9_000); // steadily away and back; less than a tap waits
        if (client.state !== "open") await w.pass(8_000);
      }
      await w.pass(20);
    }
    await w.pass(60_000);
    c.same("answered once each", [answers.size, Math.max(...answers.values())], [40, 1]);
    client.close();
  },

  async thePaceOfTapsSentAgain(c: Check, w: World): Promise<void> {
    const { client, line } = await w.open();
    for (let k = 0; k < 20; k++) void client.tap(`7.${k}`);
    line.drop(1006);
    await w.pass(540);
    await w.pass(500);
    const early = w.line.of("tap").length;
    c.holds(`${early} in the first half second, of 20 a second that the server takes`, early >= 4 && early <= 6);
    await w.pass(1_600);
    c.same("all in two seconds", w.line.of("tap").length, 20);
    client.close();
  },

  async resultsGoByIdAndNotByDrop(c: Check, w: World): Promise<void> {
    const { client, line } = await w.open();
    const old = client.tap("7.0");
    client.join("c2");
    c.same("given up with its room", await answer(w, old), { drop: "7.0", outcome: "unavailable", retryable: false });
    await w.pass(30);
    let now: TapResult | null = null;
    void client.tap("7.0").then((r) => (now = r));
    const [first, second] = line.of("tap").map((m: Wire) => m.id);
    line.say({ type: "result", id: first, drop: "7.0", ...WON });
    await w.pass(10);
    c.same("the other room's result is not this one's", now, null);
    line.say({ type: "result", id: second, drop: "7.0", outcome: "empty" });
    await w.pass(10);
    c.same("but this is", now, { drop: "7.0", outcome: "empty", retryable: false });
    client.close();
  },

  async noPromiseHangsForEver(c: Check, w: World): Promise<void> {
    const { client, line } = await w.open();
    await w.pass(1_000);
    const drop: Drop = { id: "7.0", x: 1, kind: "packet", at: client.serverNow() - 1_000, fall_ms: 4_000 };
    const [seen, named] = [noted(client.tap(drop)), noted(client.tap("7.1"))];
    const landed = noted(client.tap({ ...drop, id: "7.2", at: 5 }));
    line.drop(1006);
    w.down = true;
    await w.pass(10_600);
    c.same("of a drop that had landed", [landed.result?.outcome, seen.result], ["unavailable", null]);
    await w.pass(2_600);
    c.same("not before it has landed, the grace is over, and ten seconds more", seen.result, null);
    await w.pass(400);
    c.same("then", seen.result, { drop: "7.0", outcome: "unavailable", retryable: false });
    c.same("of one by its name alone the fall is not known", named.result, null);
    await w.pass(17_000);
    c.same("in the end", named.result?.outcome, "unavailable");
    w.down = false;
    await w.pass(20_000);
    c.same("what is given up is not sent again", w.line.of("tap").length, 0);
    client.close();
  },

  async tapsBeforeTheFirstWelcome(c: Check, w: World): Promise<void> {
    w.judge = () => ({ outcome: "not_open" });
    const client = w.client();
    const tap = noted(client.tap("7.0"));
    client.connect();
    await w.pass(100);
    c.same("it waits for the room", [tap.result?.outcome, w.line.sent[0]?.type, w.line.of("tap").length], ["not_open", "hello", 1]);
    client.close();
  },
};

/** noted follows a promise. */
function noted(promise: Promise<TapResult>): { result: TapResult | null } {
  const note: { result: TapResult | null } = { result: null };
  void promise.then((r) => (note.result = r));
  return note;
}

/** answer is what a promise comes to, which it does soon. */
async function answer(w: World, promise: Promise<TapResult>): Promise<TapResult | null> {
  const note = noted(promise);
  await w.pass(100);
  return note.result;
}
