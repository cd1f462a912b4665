// What comes over the line, and who listens.

import type { RainClientEvents } from "../../sdk/index.ts";
import { type Check, states, type World } from "./world.ts";

export const messages = {
  async eachTypeReachesItsListeners(c: Check, w: World): Promise<void> {
    const { client, line } = await w.open();
    const got: unknown[] = [];
    const types: (keyof RainClientEvents)[] = ["rain", "campaign", "wave", "result", "settled", "room", "withdrawal", "error", "goodbye"];
    for (const type of types) client.on(type, (m) => got.push(m));
    const sent = [
      { type: "rain", rain: { id: "r1", phase: "falling", later: true } },
      { type: "campaign", campaign: { id: "c1", state: "closed" } },
      { type: "result", id: 99, drop: "7.3", outcome: "empty" },
      { type: "settled", claims: [{ claim: "c1-1", amount: 88 }], balance: 88 },
      { type: "room", t: w.serverTime(), online: 3, stock: 4, won: 1, winners: [{ user: "张*", amount: 88 }], top: [] },
      { type: "withdrawal", withdrawal: { withdrawal: "w1", state: "paid" }, balance: 0 },
      { type: "error", id: null, code: "malformed", message: "x", retryable: false, more: { a: 1 } },
    ];
    line.say(...sent);
    c.same("as on the wire, unknown fields too", got.splice(0), sent);
    line.say({ type: "wave", rain: "r1", n: 7, at: 5_000, drops: [[0, 12, 0, 4_000], [3, 990, 1, 3_100]] });
    c.same("a wave's drops are objects", got.splice(0), [{
      type: "wave", rain: "r1", n: 7, at: 5_000,
      drops: [{ id: "7.0", x: 12, kind: "packet", at: 5_000, fall_ms: 4_000 }, { id: "7.3", x: 990, kind: "decoy", at: 5_000, fall_ms: 3_100 }],
    }]);
    line.say({ type: "room", t: 1, online: 3, stock: 4, won: 0, winners: null });
    c.same("nobody has won", got.splice(0), [{ type: "room", t: 1, online: 3, stock: 4, won: 0, winners: [] }]);
    client.close();
  },

  async foreignFramesBreakNothing(c: Check, w: World): Promise<void> {
    const { client, line } = await w.open();
    const seen = states(client);
    let calls = 0;
    const types: (keyof RainClientEvents)[] = ["welcome", "rain", "campaign", "wave", "result", "settled", "room", "withdrawal", "error"];
    for (const type of types) client.on(type, () => calls++);
    const tap = client.tap("7.0");
    const lines = [
      "", " ", "null", "7", "true", '"tap"', "[]", "[[]]", "{}", "{", '{"type"', '{"type":7}', '{"type":null}', '{"type":["room"]}', '{"type":"news"}',
      '{"type":"__proto__"}', '{"type":"constructor"}', '{"type":"toString"}', '{"type":"hasOwnProperty"}', '{"__proto__":{"type":"room"}}', "\u0000", "\r", "\ufeff{}",
      '{"type":"pong"}', '{"type":"pong","id":1,"server_time":"x"}', '{"type":"pong","id":1,"server_time":null}', '{"type":"pong","id":424242,"server_time":0}',
      ...types.flatMap((type) => [`{"type":"${type}"}`, ...["rain", "campaign", "claims", "drops", "withdrawal", "winners", "id", "drop"].map((f) => `{"type":"${type}","${f}":null}`)]),
      '{"type":"welcome","server_time":1,"campaign":{"id":7},"claims":[]}', '{"type":"welcome","server_time":1,"campaign":[],"claims":[]}',
      '{"type":"wave","rain":"r1","n":"7","at":1,"drops":[]}', '{"type":"settled","claims":{},"balance":1}', '{"type":"result","drop":7,"outcome":"won"}',
    ];
    for (const text of lines) line.frame(text);
    line.frame(lines.join("\n"));
    for (const data of [new ArrayBuffer(4), new Blob(["{}"]), undefined, 7]) line.frame(data);
    c.same("nobody was told", calls, 0);
    c.same("nothing has changed", [seen, w.reported, Math.abs(client.serverNow() - w.now - w.ahead) <= 1], [[], [], true]);
    line.frame(`\n{"type":"news"}\nnonsense\n{"type":"result","id":${String(line.of("tap")[0]?.id)},"drop":"7.0","outcome":"empty"}\n`);
    c.same("a good message among them is read", (await tap).outcome, "empty");
    let drops: unknown = null;
    client.on("wave", (m) => (drops = m.drops.map((d) => d.id)));
    line.frame('{"type":"wave","rain":"r1","n":7,"at":1,"drops":[null,7,[],[1],[1,2,0],[2,2,0,4000],["3",2,0,4000],[4,2,0,4000,"later"],[5,null,0,1],{}]}');
    c.same("and of a wave the drops that are some", drops, ["7.2", "7.4"]);
    client.close();
  },

  async listenersDoNotDisturbEachOther(c: Check, w: World): Promise<void> {
    const { client, line } = await w.open();
    const called: string[] = [];
    const stop = new AbortController();
    const room = { type: "room", t: 1, online: 1, stock: 1, won: 0, winners: [] };
    const fault = new Error("of the page");
    client.on("room", () => {
      called.push("a");
      throw fault;
    });
    const off = client.on("room", () => called.push("b"));
    client.on("room", () => {
      called.push("c");
      offD();
    }, { signal: stop.signal });
    const offD = client.on("room", () => called.push("d"));
    const twice = (): number => called.push("e");
    const offE = client.on("room", twice);
    client.on("room", twice);
    client.on("room", () => called.push("never"), { signal: AbortSignal.abort() });
    line.say(room);
    c.same("called, and one was taken away by another", called.splice(0), ["a", "b", "c", "e", "e"]);
    c.same("reported", w.reported, [fault]);
    off();
    off();
    offE();
    stop.abort();
    line.say(room);
    c.same("off and signal", called.splice(0), ["a", "e"]);
    c.same("the client goes on", client.state, "open");
    client.close();
  },

  /** A listener may close the client, or begin it again, from within any event. */
  async listenersMayCloseTheClient(c: Check, w: World): Promise<void> {
    for (const type of ["state", "tick", "welcome", "room"] as const) {
      for (const again of [false, true]) {
        const client = w.client();
        let done = false;
        const seen = states(client);
        client.on("state", ({ state }) => state === "open" && c.same(`open, begun again in ${type}, on a line that is`, w.line.readyState, 1));
        const after: string[] = [];
        client.on(type, () => {
          if (done || (type === "state" && client.state !== "open")) return;
          done = true;
          client.close();
          after.length = 0;
          if (again) client.connect();
        });
        for (const other of ["welcome", "room", "tick"] as const) {
          if (other !== type) client.on(other, () => after.push(other));
        }
        client.connect();
        await w.pass(40);
        const line = w.line;
        if (type === "room") line.say({ type: "room", t: 1, online: 1, stock: 1, won: 0, winners: [] }, w.welcome({ id: 1, campaign: "c1" }));
        c.same(`told after it was closed in ${type}`, again ? [] : after, []);
        await w.pass(100);
        c.same(`closed in ${type}${again ? " and begun again" : ""}`, [done, client.state, client.state === seen.at(-1)?.state], [true, again ? "open" : "ended", true]);
        client.close();
        c.same(`timers after ${type}`, w.waiting, 0);
      }
    }
    const early = w.client();
    const before = w.lines.length;
    early.on("state", ({ state }) => state === "connecting" && early.close());
    early.connect();
    await w.pass(20_000);
    c.same("closed while it was connecting", [early.state, w.lines.length, w.waiting], ["ended", before, 0]);
    const stubborn = w.client({ token: () => Promise.reject(Object.assign(new Error("no"), { status: 403 })) });
    let ends = 0;
    stubborn.on("state", ({ state }) => {
      if (state === "ended" && ++ends < 5) stubborn.connect();
    });
    stubborn.connect();
    await w.pass(100);
    c.same("begun again at its end", [stubborn.state, ends], ["ended", 5]);
  },
};
