// How the client comes, stays, and comes back.

import { CloseCode, RainClient } from "../../sdk/index.ts";
import { type Check, dice, names, states, type World } from "./world.ts";

export const connection = {
  async itComesIn(c: Check, w: World): Promise<void> {
    const client = w.client();
    const order: string[] = [];
    client.on("state", ({ state }) => order.push(state));
    client.on("welcome", (m) => order.push(`welcome as ${m.user}`));
    c.same("idle", client.state, "idle");
    client.connect();
    client.connect();
    await w.pass(40);
    c.same("order", order, ["connecting", "open", "welcome as u1"]);
    c.same("one line, to", w.lines.map((l) => l.url), ["ws://rain.test/ws"]);
    c.same("hello", w.line.sent[0], { type: "hello", id: 1, token: "t1", campaign: "c1" });
    c.holds("it knows the time", client.synced && Math.abs(client.serverNow() - w.now - w.ahead) <= 1);
    await w.pass(700);
    c.same("pings that set the clock", w.line.of("ping").length, 6);
    client.close();
  },

  async closeCodes(c: Check, w: World): Promise<void> {
    for (const code of [1000, 1001, 1002, 1003, 1006, 1007, 1012, 4000, 4001, 4008, 4009, 4499, 4600]) {
      const { client, line } = await w.open();
      line.drop(code);
      c.same(`${code}`, [client.state, RainClient.isFinal(code)], ["waiting", false]);
      await w.pass(1_500);
      c.same(`it is back after ${code}`, client.state, "open");
      client.close();
    }
    const late = await w.open();
    late.line.drop(CloseCode.protocol, "no hello in time");
    c.same("a hello that was late", late.client.state, "waiting");
    await w.pass(1_500);
    c.same("it is back with another", late.client.state, "open");
    late.client.close();
    for (const code of [...Object.values(CloseCode), 4500, 4599]) {
      const { client, line } = await w.open();
      const seen = states(client);
      const tap = client.tap("7.0");
      line.drop(code);
      c.same(`${code}`, [seen, RainClient.isFinal(code)], [[{ state: "ended", code }], true]);
      c.same(`a tap in flight, and one after ${code}`, await Promise.all([tap, client.tap("7.1")]), [
        { drop: "7.0", outcome: "unavailable", retryable: false }, { drop: "7.1", outcome: "unavailable", retryable: false },
      ]);
      c.same(`timers after ${code}`, w.waiting, 0);
      const lines = w.lines.length;
      for (const sign of ["online", "offline"]) dispatchEvent(new Event(sign));
      await w.pass(60_000);
      c.same(`it stays away after ${code}`, w.lines.length, lines);
      client.connect();
      await w.pass(40);
      c.same("connect begins again", client.state, "open");
      client.close();
    }
  },

  async aHallComesBackSpread(c: Check, w: World): Promise<void> {
    const random = dice(50);
    const clients = [];
    for (let i = 0; i < 50; i++) clients.push((await w.open({ random })).client);
    const before = w.lines.length;
    w.down = true;
    const cut = w.now;
    for (const line of [...w.lines]) line.drop(1006);
    await w.pass(1_020);
    spread(c, "the first tries", w.lines.slice(before).map((l) => l.opened - cut), 1_000);
    await w.pass(120_000);
    const late = w.lines.filter((l) => l.opened > w.now - 15_000);
    spread(c, "tries after two minutes", late.map((l) => l.opened - w.now + 15_000), 15_000);
    c.holds(`a server that is down for long is asked seldom: ${late.length} tries of 50 clients in 15 s`, late.length > 50 && late.length < 200);
    w.down = false;
    await w.pass(16_000);
    c.same("all are back", clients.filter((client) => client.state !== "open").length, 0);
    for (const client of clients) client.close();
    c.same("timers", w.waiting, 0);
  },

  async theBackoffStartsAfreshAfterASteadyConnection(c: Check, w: World): Promise<void> {
    const { client } = await w.open();
    const seen = states(client);
    const waits = (): unknown[] => seen.splice(0).flatMap((m) => m.retryIn ?? []);
    for (let i = 0; i < 3; i++) {
      w.line.drop(4001);
      await w.pass(3_000);
    }
    c.same("a server that lets in and throws out", waits(), [500, 1_000, 2_000]);
    await w.pass(10_000);
    w.line.drop(4001);
    c.same("after ten seconds", waits(), [500]);
    client.close();
  },

  async aGoodbyeIsHonoured(c: Check, w: World): Promise<void> {
    for (const [asked, wait] of [[2_750, 3_250], [0, 500], [-5, 500], ["x", 500], [null, 500], [1e9, 60_500]]) {
      const { client, line } = await w.open();
      const seen = states(client);
      line.say({ type: "goodbye", reason: "shutdown", reconnect_after_ms: asked });
      line.drop(4000);
      c.same(`asked for ${asked}`, seen, [{ state: "waiting", code: 4000, retryIn: wait }]);
      const lines = w.lines.length;
      if (asked === 2_750) {
        client.connect();
        dispatchEvent(new Event("online"));
        await w.pass(2_750);
        c.same("nothing shortens what the server has asked for", w.lines.length, lines);
      }
      client.close();
    }
  },

  async aPlaceInTheWaitingRoomIsKept(c: Check, w: World): Promise<void> {
    const asked: string[] = [];
    const answers: (object | number)[] = [{ admitted: false, position: 3, retry_after_ms: 4_000 }, 503, { admitted: false, position: 1, retry_after_ms: 1_000 }, { admitted: true }];
    const get = async (url: unknown, init?: RequestInit): Promise<Response> => {
      asked.push(`${w.now} ${url} ${new Headers(init?.headers).get("Authorization")}`);
      const next = answers.shift() ?? 500;
      return { ok: typeof next === "object", json: async () => next } as Response; // a real one is read outside this world's time
    };
    const waiting = (position: number): object => ({ type: "goodbye", reason: "waiting", reconnect_after_ms: 9_000, position, wait_ms: 60_000 });
    w.greet = () => null;
    const client = w.client({ fetch: get as typeof fetch });
    const seen: unknown[] = [];
    client.on("waiting", ({ position, retry_after_ms, wait_ms }) => seen.push([position, retry_after_ms, wait_ms]));
    client.connect();
    await w.pass(40);
    const from = w.now;
    w.line.say(waiting(7) as Record<string, unknown>);
    w.line.drop(4003);
    c.same("its place", seen.splice(0), [[7, 9_000, 60_000]]);
    c.same("the state", client.state, "waiting");
    client.connect();
    dispatchEvent(new Event("online"));
    await w.pass(8_990);
    c.same("it asks when it is told to, and nothing shortens that", asked, []);
    await w.pass(50);
    c.same("over HTTP", asked, [`${from + 9_000} http://rain.test/api/v1/admission?campaign=c1 Bearer t1`]);
    c.same("the next place", seen.splice(0), [[3, 4_000, undefined]]);
    c.same("no socket meanwhile", w.lines.length, 1);
    await w.pass(4_050); // which is answered 503: it knocks at the socket
    c.same("a fault makes it knock", w.lines.length, 2);
    w.line.say(waiting(2) as Record<string, unknown>);
    w.line.drop(4003);
    await w.pass(9_050);
    c.same("and it waits on", seen.splice(0), [[2, 9_000, 60_000], [1, 1_000, undefined]]);
    w.greet = (m) => w.welcome(m);
    await w.pass(1_100);
    c.same("it is in", [client.state, w.lines.length], ["open", 3]);
    client.close();
    await w.pass(60_000);
    c.same("and asks no more", asked.length, 4);
  },

  async whoIsFullWithoutAPlaceComesBack(c: Check, w: World): Promise<void> {
    const { client, line } = await w.open({ fetch: undefined });
    line.drop(4003);
    c.same("as after any fault", client.state, "waiting");
    await w.pass(1_500);
    c.same("it is back", client.state, "open");
    client.close();
  },

  async aCountdownIsSpread(c: Check, w: World): Promise<void> {
    const client = w.client({ random: () => 0.25 });
    client.connect({ spread: 8_000 });
    dispatchEvent(new Event("online"));
    await w.pass(1_990);
    c.same("not at once", w.lines.length, 0);
    await w.pass(60);
    c.same("within the spread", client.state, "open");
    client.close();
  },

  async theDeviceIsHeard(c: Check, w: World): Promise<void> {
    const { client } = await w.open();
    const seen = states(client);
    dispatchEvent(new Event("offline"));
    c.same("known at once", seen.splice(0), [{ state: "waiting", code: 0, retryIn: 500 }]);
    w.down = true;
    await w.pass(60_000);
    c.same("it goes on trying: a server may be on this machine", client.state === "waiting" || client.state === "connecting", true);
    w.down = false;
    while (client.state !== "waiting") await w.pass(10);
    const lines = w.lines.length;
    dispatchEvent(new Event("online"));
    await w.pass(600);
    c.same("back within a second", [client.state, w.lines.length], ["open", lines + 1]);

    w.down = true;
    w.line.drop(1006);
    await w.pass(60_000);
    w.down = false;
    while (client.state !== "waiting") await w.pass(10);
    document.dispatchEvent(new Event("visibilitychange"));
    await w.pass(600);
    c.same("so does who looks at the page again", client.state, "open");
    await w.pass(5_000);
    const pings = w.line.of("ping").length;
    document.dispatchEvent(new Event("visibilitychange"));
    await w.pass(700);
    c.same("and the clock is set again", w.line.of("ping").length, pings + 6);
    client.close();

    let chance = 0.1;
    const lucky = (await w.open({ random: () => chance })).client;
    w.line.drop(1006);
    chance = 0.9;
    const more = states(lucky);
    dispatchEvent(new Event("online"));
    c.same("no sign makes it wait longer", more, []);
    lucky.close();
  },

  async silenceIsNoticed(c: Check, w: World): Promise<void> {
    const { client, line } = await w.open();
    for (let i = 0; i < 30; i++) {
      line.say({ type: "room", t: w.serverTime(), online: 1, stock: 1, won: 0, winners: null });
      await w.pass(1_000);
    }
    c.same("while the room is heard, nothing is asked but the time", line.of("ping").length, 6 + 1);
    await w.pass(20_000);
    c.same("without a room the answers do", [client.state, w.lines.length], ["open", 1]);
    line.dead = true;
    const cut = w.now;
    const seen = states(client);
    while (seen.length === 0 && w.now < cut + 20_000) await w.pass(100);
    c.holds(`a dead line is given up after ${w.now - cut} ms`, w.now - cut > 3_000 && w.now - cut <= 8_000);
    await w.pass(600);
    c.same("and another made", client.state, "open");
    client.close();
  },

  async aSleepIsNoSilence(c: Check, w: World): Promise<void> {
    const { client, line } = await w.open();
    await w.pass(900); // so that nothing is on its way
    w.latency = 700; // a phone's radio wakes up as well
    await w.sleep(3_600_000);
    c.same("the line may still be good", client.state, "open");
    await w.pass(4_000);
    w.latency = 10;
    await w.pass(4_000);
    c.same("it was", [client.state, w.lines.length], ["open", 1]);
    line.dead = true;
    await w.sleep(3_600_000);
    await w.pass(6_000);
    c.same("it is not", w.lines.length, 2);
    // A machine whose steady clock stands still while it is suspended: only the server's word betrays it.
    await w.pass(2_000);
    w.ahead += 600_000;
    w.line.say({ type: "room", t: w.serverTime(), online: 1, stock: 1, won: 0, winners: [] });
    await w.pass(30);
    c.holds("the clock is right at once", Math.abs(client.serverNow() - w.now - w.ahead) <= 1);
    client.close();
  },

  async aHandshakeThatHangsIsGivenUp(c: Check, w: World): Promise<void> {
    w.greet = () => null;
    const { client } = await w.open();
    await w.pass(9_000);
    c.same("waiting for the welcome", client.state, "connecting");
    w.greet = (m) => w.welcome(m);
    await w.pass(2_000);
    c.same("another line has it", [client.state, w.lines.length], ["open", 2]);
    client.close();
  },

  async theTokenIsAskedForEachConnection(c: Check, w: World): Promise<void> {
    let asked = 0;
    const { client, line } = await w.open({ token: () => Promise.resolve(`t${++asked}`) });
    line.drop(1006);
    await w.pass(600);
    c.same("tokens", w.lines.map((l) => l.sent[0]?.token), ["t1", "t2"]);
    client.close();

    for (const [status, ends] of [[403, true], [401, true], [429, false], [408, false], [503, false], [undefined, false]] as const) {
      const refused = w.client({ token: () => Promise.reject(status ? Object.assign(new Error("no"), { status }) : null) });
      const seen = states(refused);
      refused.connect();
      await w.pass(10);
      c.same(`the token is refused with ${status}`, seen.at(-1), ends ? { state: "ended", code: status } : { state: "waiting", code: 0, retryIn: 500 });
      refused.close();
    }

    const answers: ((token: string) => void)[] = [];
    const slow = w.client({ token: () => new Promise((resolve) => answers.push(resolve)) });
    const before = w.lines.length;
    slow.connect();
    await w.pass(16_000);
    c.same("a token that never comes is asked for again", answers.length, 2);
    answers[0]?.("old");
    await w.pass(100);
    c.same("and the first is too late", w.lines.length, before);
    answers[1]?.("new");
    await w.pass(100);
    c.same("for the second", [slow.state, w.line.sent[0]?.token], ["open", "new"]);
    slow.close();
    slow.connect();
    slow.close();
    answers[2]?.("closed meanwhile");
    await w.pass(100);
    c.same("closed is closed", [slow.state, w.lines.length], ["ended", before + 1]);
  },

  async anAddressThatMayNotBeOpened(c: Check, w: World): Promise<void> {
    const client = w.client({
      WebSocket: class {
        constructor() {
          throw new DOMException("mixed content", "SecurityError");
        }
      } as never,
    });
    client.connect();
    await w.pass(10);
    c.same("it ends, and says so to the developer", [client.state, String(w.reported[0])], ["ended", "SecurityError: mixed content"]);
  },

  async joining(c: Check, w: World): Promise<void> {
    w.greet = (m) => (m.campaign === "none" ? { type: "error", id: m.id, code: "unknown_campaign", message: "there is none", retryable: false } : w.welcome(m));
    const { client, line } = await w.open();
    const welcomes: string[] = [];
    client.on("welcome", (m) => welcomes.push(m.campaign.id));
    client.join("c1");
    client.join("c2");
    await w.pass(30);
    c.same("moved", [client.campaign, welcomes, line.of("join").length], ["c2", ["c2"], 1]);
    client.join("none");
    await w.pass(30);
    c.same("there is no such campaign: it stays", [client.campaign, client.state], ["c2", "open"]);
    line.drop(1006);
    client.join("c3");
    await w.pass(600);
    c.same("moved while away", w.line.sent[0]?.campaign, "c3");
    line.drop(1006);
    client.close();

    const hasty = w.client();
    hasty.connect();
    await w.pass(25);
    hasty.join("c9");
    await w.pass(60);
    c.same("moved while the hello was on its way", [w.line.sent[0]?.campaign, w.line.of("join").map((m) => m.campaign)], ["c1", ["c9"]]);
    hasty.close();

    let busy = true;
    w.greet = (m) => (m.type === "join" && busy ? { type: "error", id: m.id, code: "unavailable", message: "later", retryable: true } : w.welcome(m));
    const again = (await w.open()).client;
    again.join("c4");
    await w.pass(30);
    busy = false;
    await w.pass(2_000);
    c.same("a join that is refused for now is made again", w.line.of("join").length, 2);
    again.close();
  },

  async aPageThatIsLeftHangsUp(c: Check, w: World): Promise<void> {
    const { client, line } = await w.open();
    dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true }));
    c.same("the line is closed", [line.readyState, client.state], [3, "waiting"]);
    await w.pass(1_000);
    c.same("shown again, its time goes on: it comes back", client.state, "open");
    client.close();
  },

  async closing(c: Check, w: World): Promise<void> {
    const listening = watchListeners();
    const { client, line } = await w.open();
    const seen = states(client);
    client.close();
    client.close();
    c.same("ended once", seen, [{ state: "ended", code: 1000 }]);
    c.same("socket and timers", [line.readyState, w.waiting], [3, 0]);
    client.connect();
    await w.pass(40);
    dispatchEvent(new Event("offline"));
    c.same("begun again, it hears the device again", names(seen).slice(1), ["connecting", "open", "waiting"]);
    client.close();
    const idle = w.client();
    idle.close();
    c.same("closed before it began", [idle.state, w.waiting], ["ended", 0]);
    c.same("listeners", listening.left.size, 0);
    c.holds("there were some", listening.added > 0);
  },
};

/** watchListeners counts the listeners that are added to the window or the document from now on, and those that are left. */
function watchListeners(): { added: number; left: Set<unknown> } {
  const all = { added: 0, left: new Set<unknown>() };
  for (const target of [window, document]) {
    const add = target.addEventListener.bind(target);
    const remove = target.removeEventListener.bind(target);
    target.addEventListener = (type: string, listener: EventListenerOrEventListenerObject, options?: AddEventListenerOptions | boolean) => {
      all.added++;
      all.left.add(listener);
      add(type, listener, options);
    };
    target.removeEventListener = (type: string, listener: EventListenerOrEventListenerObject, options?: EventListenerOptions | boolean) => {
      all.left.delete(listener);
      remove(type, listener, options);
    };
  }
  return all;
}

/** spread tells whether moments fill a window: each fifth of it has some, and none has the half. */
function spread(c: Check, what: string, at: number[], window: number): void {
  const fifths = [0, 0, 0, 0, 0];
  for (const t of at) fifths[Math.min(4, Math.floor((5 * t) / window))]! += 1;
  c.holds(`${what}: ${fifths.join()}`, at.length >= 50 && Math.min(...fifths) > 0 && Math.max(...fifths) < at.length / 2);
}
