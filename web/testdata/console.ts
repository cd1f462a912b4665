// Tests of the console's modules that decide something, run in the browser by TestConsoleModules. run answers with what is wrong.

import { clock, count, millis, moment, money, percent, rate, roughly, seconds, when } from "../src/console/format.ts";
import { fill } from "../src/console/i18n.ts";
import { isSoldOut, soldOutAt } from "../src/console/campaign/soldout.tsx";
import { newest } from "../src/console/campaign/page.tsx";
import { ALL, listPath, merge } from "../src/console/campaign/uselist.ts";
import { Feed } from "../src/console/live/feed.ts";
import { Rates } from "../src/console/live/rates.ts";
import { pastOf } from "../src/console/live/past.ts";
import { Ring, SPAN } from "../src/console/live/ring.ts";
import { Parser } from "../src/console/live/sse.ts";
import { LIMITS, PRESETS, emptyForm, number, readRain, type RainForm } from "../src/console/rains/limits.ts";
import { forecast, remedies } from "../src/console/rains/forecast.ts";
import { left, phaseAt } from "../src/console/rains/phase.ts";
import { parse, to } from "../src/console/route.ts";
import { sample, toLocal, toServer } from "../src/console/servertime.ts";
import { campaign } from "../src/console/strings/campaign.ts";
import { frame } from "../src/console/strings/frame.ts";
import { live } from "../src/console/strings/live.ts";
import { rains } from "../src/console/strings/rains.ts";
import { ui } from "../src/console/strings/ui.ts";
import { unsure } from "../src/console/ui/fault.tsx";
import { since, sumUp } from "../src/console/rains/summary.ts";
import { ApiError } from "../src/shared/api.ts";
import type { Campaign, History, Rain } from "../src/shared/schemas.ts";
import type { Table } from "../src/shared/i18n.ts";

const faults: string[] = [];

function same(what: string, got: unknown, want: unknown): void {
  const [a, b] = [JSON.stringify(got), JSON.stringify(want)];
  if (a !== b) faults.push(`${what}: ${a}, want ${b}`);
}

const RAIN = { id: "r1", campaign: "c1", phase: "countdown", starts_at: 1_000, ends_at: 15_000, duration_ms: 10_000, first_wave: 0 } as Rain;
const CAMPAIGN = { id: "c1", name: "Spring Gala", sponsor: "acme", state: "ready", revision: 3, rains: [RAIN] } as unknown as Campaign;
const FORM: RainForm = emptyForm();

const tests: Record<string, () => void | Promise<void>> = {
  unsure() {
    const open = (code: string | undefined, status: number) => unsure(new ApiError({ ...(code ? { code } : {}), status })) !== undefined;
    same("what may have been done", [open(undefined, 0), open("internal", 500), open("unavailable", 503), open("http_502", 502), open("of_next_year", 500)],
      [true, true, true, true, true]);
    for (const [code, status] of [["busy", 503], ["state_lost", 503], ["withdrawals_held", 503], ["unreadable_campaign", 500], ["invalid", 422], ["waits", 202],
      ["page_fault", 0], ["aborted", 0]] as const) same(`${code} has words of its own`, open(code, status), false);
  },

  sse() {
    const stream = [
      ": comment", "", "event: stats", "data: {\"a\":1}", "", "data", "", "data:no space", "data:  two spaces", "", "event: empty", "", "data: after empty", "",
      "id: 7", "retry: 10", "unknown: field", "data: last", "", "data: never finished",
    ];
    const want = [
      { event: "stats", data: '{"a":1}' }, { event: "message", data: "" }, { event: "message", data: "no space\n two spaces" },
      { event: "message", data: "after empty" }, { event: "message", data: "last" },
    ];
    for (const end of ["\n", "\r\n", "\r"]) {
      const text = stream.join(end);
      for (const size of [1, 2, 3, 7, text.length]) {
        const parser = new Parser();
        const got = [];
        for (let i = 0; i < text.length; i += size) got.push(...parser.push(text.slice(i, i + size)));
        same(`sse with ${JSON.stringify(end)} in pieces of ${size}`, got, want);
      }
    }
  },

  async feed() {
    const log: string[] = [];
    let tries = 0;
    const done = new Promise<void>((resolve) => {
      const feed = new Feed({
        silence: 1_000, random: () => 0,
        open: () => {
          tries++;
          if (tries === 2) return Promise.reject(new Error("away"));
          const bytes = new TextEncoder().encode(`data: 红包 ${tries}\n\n`);
          return Promise.resolve(new Response(new ReadableStream({
            start(c) {
              for (const b of bytes) c.enqueue(new Uint8Array([b])); // also through the middle of a letter
              c.close();
            },
          })));
        },
        event: (e) => {
          log.push(e.data);
          if (tries !== 3) return;
          feed.close();
          resolve();
        },
        state: (s) => log.push(s),
      });
    });
    await done;
    await new Promise((resolve) => setTimeout(resolve, 20));
    same("feed", log, ["connecting", "live", "红包 1", "lost", "connecting", "lost", "connecting", "live", "红包 3"]);
    same("tries", tries, 3);
  },

  async deadFeed() {
    let tries = 0;
    const aborted = new Promise<void>((resolve) => {
      const feed = new Feed({
        silence: 30, random: () => 0, event: () => undefined, state: () => undefined,
        open: (signal) => new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(new Error("aborted")));
          if (++tries < 3) return;
          feed.close();
          resolve();
        }),
      });
    });
    await aborted; // it never comes here where a silent connection is not given up
    same("tries of a feed that says nothing", tries, 3);
  },

  ring() {
    const ring = new Ring();
    ring.push(100, { won: 1, online: 5 });
    ring.push(101, { won: 2, online: 9 });
    ring.push(101, { won: 99 }); // not later: not taken
    ring.push(110, { won: 3 });
    same("a hole after a gap", ring.since(0, ["won"]), [[100, 101, 102, 110], [1, 2, null, 3]]);
    same("since, with the row before", ring.since(105, ["won", "online"]), [[102, 110], [null, 3], [null, null]]);
    same("most", [ring.most("online", 0), ring.most("online", 101), ring.most("p50", 0)], [9, 9, null]);
    same("last", [ring.last("won"), ring.last("online")], [3, null]);
    for (let t = 111; t < 120 + 2 * SPAN; t++) ring.push(t, { won: t });
    const [times] = ring.since(0, ["won"]);
    same("what is kept", [times.length, times[0]], [SPAN + 1, 119 + SPAN]);
  },

  past() {
    const empty: History = {
      from: 0, to: 0, t: [], span_ms: [], online: [], waiting: [], grabs_per_second: [], tap_p50_ms: [], tap_p99_ms: [], taps: [], won: [], paid: [], stock: [],
      empty: [], late: [],
    };
    const h: History = {
      ...empty, t: [10_000, 11_000, 20_000, 21_000], span_ms: [1_000, 1_000, 1_000, 1_000], online: [5, 9, 7, 7], grabs_per_second: [1, 30, 2, 2],
      tap_p50_ms: [null, 2, 3, null], tap_p99_ms: [null, 8, 4, null], taps: [100, 130, 150, 140], won: [10, 14, 20, 26], empty: [1, 1, 1, 3],
    };
    const past = pastOf(h, 90_000);
    same("times of the past", past.map((r) => r.time), [101, 102, 111, 112]);
    same("rates of the past", past.map((r) => [r.row.wins, r.row.empty]), [[null, null], [4, 0], [null, null], [6, 2]]);
    const ring = new Ring();
    ring.push(112, { won: 30 });
    ring.push(113, { won: 31 });
    ring.before(past);
    same("the past before the present", ring.since(0, ["won", "online"]), [[101, 102, 103, 111, 112, 113], [10, 14, null, 20, 30, 31], [5, 9, null, 7, null, null]]);
    const aged = new Ring();
    aged.before(pastOf({ ...h, t: [0, 10_000, 20_000, 60_000], span_ms: [10_000, 10_000, 10_000, 10_000] }, 0));
    same("aged rows are no holes", aged.since(0, ["won"]), [[10, 20, 30, 31, 70], [10, 14, 20, null, 26]]);
    same("what a rain comes to", sumUp(h, 11_500), { taps: 50, won: 16, peak: 30, online: 9, p50: 3, p99: 8, span: 1 });
    same("a count from the rain on", since(h, 11_500, h.taps), [0, 30, 50, 50]);
    same("a rain without rows", sumUp(empty, 0), { taps: 0, won: 0, peak: 0, online: 0, p50: null, p99: null, span: 0 });
  },

  rates() {
    const rates = new Rates();
    const push = (at: number, won: number) => rates.push(at, { won })("won");
    same("at first", push(0, 100), null);
    same("too soon", push(400, 130), null);
    same("since the first", push(1_000, 150), 50);
    same("one that is late", push(2_000, 150), 25);
    same("and comes twice as much", [push(3_000, 250), push(4_000, 300)], [50, 50]);
    same("after a gap", push(9_000, 400), null);
    same("counted anew", push(10_000, 3), null);
    same("of what is not counted", rates.push(11_000, {})("won"), null);
  },

  formats() {
    same("count", [count(0), count(3820), count(1234567), count(null), count(undefined)], ["0", "3,820", "1,234,567", "–", "–"]);
    same("rate", [rate(0), rate(9.94), rate(9.96), rate(92.5), rate(1234.4), rate(null)], ["0.0", "9.9", "10", "93", "1,234", "–"]);
    same("money", [money(763880), money(-5), money(0), money(undefined)], ["¥7,638.80", "-¥0.05", "¥0.00", "–"]);
    same("roughly", [roughly(53_280), roughly(123_456_789), roughly(9_999), roughly(0)], ["¥533", "¥1,234,568", "¥99.99", "¥0.00"]);
    same("millis", [millis(0.123), millis(8.12), millis(130.4), millis(2400), millis(null)], ["0.12 ms", "8.1 ms", "130 ms", "2.4 s", "–"]);
    same("percent", [percent(0, 0), percent(1, 300), percent(999, 1000), percent(1, 1), percent(0, 5)], ["0%", "0.3%", "99%", "100%", "0%"]);
    same("seconds", [seconds(10_000), seconds(2_500), seconds(null)], ["10", "2.5", "–"]);
    const noon = new Date(2025, 10, 21, 12, 3, 9).getTime();
    same("when", [when(noon), clock(noon), when(undefined)], ["2025-11-21 12:03:09", "12:03:09", "–"]);
    same("another day", [moment(noon), moment(Date.now()).length], ["2025-11-21 12:03:09", 8]);
    same("left", [left(0), left(6_100), left(723_000), left(11_045_000), left(-5)], ["0:00", "0:07", "12:03", "3:04:05", "0:00"]);
  },

  // Half past is half past, and not a second before, wherever in a millisecond the two clocks are read.
  serverClock() {
    const asked = new Date(2025, 10, 21, 12, 30, 0).getTime();
    const shown = new Set<string>();
    for (let i = 0; i < 200; i++) {
      sample(Date.now() + 90_000 + i * 0.37, performance.now(), performance.now());
      shown.add(when(toLocal(Math.round(toServer(asked)))));
    }
    same("a time on the server's clock and back", [...shown], ["2025-11-21 12:30:00"]);
  },

  texts() {
    same("fill", fill("{n} {n|packet|packets} of {who}", { n: 1, who: "acme" }), "1 packet of acme");
    same("many", fill("{n} {n|packet|packets}{none}", { n: 3820 }), "3,820 packets");
    for (const [name, table] of Object.entries<Table>({ campaign, frame, live, rains, ui })) {
      for (const [key, { zh, en }] of Object.entries(table)) {
        const names = (text: string) => [...new Set([...text.matchAll(/\{(\w+)/g)].map((m) => m[1]))].sort();
        if (!zh.trim() || !en.trim()) faults.push(`${name}.${key} is empty`);
        same(`values of ${name}.${key}`, names(zh), names(en));
      }
    }
  },

  routes() {
    for (const parts of [["campaigns", "c1", "claims"], ["users", "a/b#?%"], ["new"]]) same(`route ${parts}`, parse(to(...parts)).parts, parts);
    same("none", parse("").parts, ["campaigns"]);
    same("query", [...parse(to("new", { from: "c 1" })).query], [["from", "c 1"]]);
    same("cut off", parse("#/users/%E7%BA").parts, ["users", "%E7%BA"]);
  },

  list() {
    const [a, b, c] = ["a", "b", "c"].map((id) => ({ ...CAMPAIGN, id }));
    if (!a || !b || !c) return;
    same("merge", merge([{ ...a, name: "new" }], [a, b, c]).map((x) => x.id + x.name), ["anew", "bSpring Gala", "cSpring Gala"]);
    same("paths", [listPath(ALL, ""), listPath({ text: "年会 a&b", state: "closed", sort: "budget.desc" }, "5-c")].map((path) => [...new URLSearchParams(path.split("?")[1])].join(" ")),
      ["limit,50", "limit,50 q,年会 a&b state,closed sort,budget order,desc cursor,5-c"]);
  },

  newest() {
    const told = { ...CAMPAIGN, revision: 4, state: "paused" as const };
    same("the feed's is newer", newest(CAMPAIGN, told, undefined, 0)?.state, "paused");
    same("what was asked for is newer", newest({ ...CAMPAIGN, revision: 5 }, told, undefined, 0)?.state, "ready");
    same("it rains", newest(CAMPAIGN, undefined, undefined, 2_000)?.state, "raining");
    same("it was stopped", newest(CAMPAIGN, undefined, { ...RAIN, phase: "ended" }, 2_000)?.state, "ready");
  },

  phases() {
    same("phases", [0, 1_000, 14_999, 15_000].map((now) => phaseAt(RAIN, CAMPAIGN, now)), ["countdown", "falling", "falling", "ended"]);
    same("paused", phaseAt(RAIN, { state: "paused" }, 2_000), "paused");
    same("closed", phaseAt(RAIN, { state: "closed" }, 2_000), "ended");
    same("stopped", phaseAt({ ...RAIN, phase: "ended" }, CAMPAIGN, 2_000), "ended");
  },

  rainForm() {
    const read = (part: Partial<RainForm>, now = 1e12) => readRain({ ...FORM, ...part }, now, (local) => local + 90_000);
    const { duration_ms, fall_ms, decoy_percent, odds, starts_in_ms } = read({}).rain ?? {};
    same("at first", [duration_ms, fall_ms, decoy_percent, odds, starts_in_ms], [10_000, 4_000, 0, 1, 10_000]);
    same("by luck", read({ luck: "odds", odds: "12.5", beat_ms: "0.5" }).rain?.odds, 0.125);
    same("by luck that sets itself", [read({ luck: "auto", odds: "x", beat_ms: "2" }).rain?.odds, read({ luck: "auto", beat_ms: "2" }).rain?.beat_ms], ["auto", 2_000]);
    same("no luck at all", [read({ luck: "odds", odds: "0" }).wrong.odds, read({ luck: "auto", beat_ms: "11" }).wrong.beat_ms], ["range", "range"]);
    same("numbers", [" 2.5", "2,5", "1e3", "-1", "", "1.2345"].map(number), [2.5, 2.5, null, null, null, null]);
    for (const [field, { least, most, scale }] of Object.entries(LIMITS)) {
      const one = (n: number) => read({ luck: "odds", [field]: String(n / scale) }).wrong;
      same(`${field} at its limits`, [one(least), one(most)], [{}, {}]);
      same(`${field} above`, one(most + 1), { [field]: "range" });
      if (least > 0) same(`${field} below`, one(least - 1), { [field]: "range" });
      same(`${field} is no number`, read({ luck: "odds", [field]: "x" }).wrong, { [field]: "number" });
    }
    same("half a packet", read({ drops_per_second: "8.5" }).wrong, { drops_per_second: "whole" });
    const at = "2025-11-21T12:00:00";
    const local = new Date(at).getTime();
    same("at a time", read({ at: true, starts_at: at }, local).rain?.starts_at, local + 90_000);
    same("now on the server", read({ at: true, starts_at: at }, local + 90_000).wrong, {});
    same("past on the server", read({ at: true, starts_at: at }, local + 90_001).wrong, { starts_at: "past" });
    same("too far", read({ at: true, starts_at: at }, local + 90_000 - 7 * 86_400_000 - 1).wrong, { starts_at: "far" });
    same("no time", read({ at: true, starts_at: "" }).wrong, { starts_at: "time" });
    for (const p of PRESETS) same(`preset ${p.key}`, read(p.form).wrong, {});
  },

  forecasts() {
    const stats = { online: 12, stock: 600, amount_left: 88_800 };
    const rules = { wins_per_user: 20, taps_per_user: 0 };
    const of = (form: Partial<RainForm>, more: Partial<typeof stats & typeof rules> = {}) => {
      const { rain } = readRain({ ...FORM, ...form }, 0, (local) => local);
      if (!rain) throw new Error(`no rain of ${JSON.stringify(form)}`);
      const [c, s] = [{ ...rules, ...more }, { ...stats, ...more }];
      const f = forecast(c, s, rain);
      return { ...f, offers: remedies(c, f, rain).map((r) => `${r.key} ${r.n}`), helps: remedies(c, f, rain).map((r) => r.form) };
    };
    const { players, each, limit, most, left, needed, wanted, offers } = of({});
    same("the rules limit", { players, each, limit, most, left, needed, wanted, offers }, { players: 12, each: 20, limit: "wins_per_user", most: 240, left: 53_280, needed: 30, wanted: 50, offers: [] });
    const table: [string, Partial<RainForm>, Partial<typeof stats & typeof rules>, [string, number, number, string[]]][] = [
      ["enough", {}, { wins_per_user: 50 }, ["wins_per_user", 600, 0, []]],
      ["more than there is", {}, { online: 100 }, ["wins_per_user", 600, 0, []]],
      ["a short rain", { duration_ms: "2" }, {}, ["drops", 192, 60_384, ["longer 3", "denser 10"]]],
      ["decoys", { decoy_percent: "90" }, {}, ["drops", 96, 74_592, ["longer 25", "denser 20"]]],
      ["too dense for a phone", { duration_ms: "2" }, { online: 6, wins_per_user: 100 }, ["drops", 96, 74_592, ["longer 13"]]],
      ["no time is enough", { duration_ms: "1", drops_per_second: "1" }, { online: 1, wins_per_user: 1_000, stock: 700 }, ["drops", 1, 88_673, []]],
      ["only decoys", { decoy_percent: "100" }, {}, ["drops", 0, 88_800, []]],
      ["taps", {}, { taps_per_user: 5 }, ["taps_per_user", 60, 79_920, []]],
      ["draws", { luck: "odds", odds: "25" }, {}, ["draws", 30, 84_360, ["certain 0"]]],
      ["automatic draws", { luck: "auto" }, {}, ["draws", 120, 71_040, ["certain 0"]]],
      ["long beats", { luck: "auto", beat_ms: "3" }, {}, ["draws", 48, 81_696, ["certain 0"]]],
      ["nobody", {}, { online: 0 }, ["wins_per_user", 0, 88_800, []]],
      ["nothing", {}, { stock: 0, amount_left: 0 }, ["wins_per_user", 0, 0, []]],
    ];
    for (const [name, form, more, want] of table) {
      const f = of(form, more);
      same(name, [f.limit, f.most, f.left, f.offers], want);
      // The offer helps: drops and draws limit no more.
      for (const help of f.helps) same(`${name}, after ${JSON.stringify(help)}`, of({ ...form, ...help }, more).limit, "wins_per_user");
    }
    same("only decoys need", of({ decoy_percent: "100" }).needed, null); // Infinity, in JSON
  },

  soldOut() {
    const at = (...stock: number[]) => soldOutAt({ stock, t: stock.map((_, i) => i * 1_000), span_ms: stock.map(() => 1_000) });
    same("the end of the first second without stock", at(9, 3, 0, 0), 3_000);
    same("not yet", at(9, 3), undefined);
    same("before it is known", [at(0, 0), at()], [undefined, undefined]);
    const is = (state: string, stock?: number) => isSoldOut({ ...CAMPAIGN, state } as Campaign, stock === undefined ? undefined : { stock });
    same("sold out", [is("ready", 0), is("raining", 0), is("closed", 0), is("paused", 0), is("ready", 1), is("ready")], [true, true, false, false, false, false]);
  },
};

/** firstRain is the body that the form sends as it is at first. */
export function firstRain(): unknown {
  return readRain(emptyForm(), Date.now(), (local) => local).rain;
}

/** run runs all, one after the other: they share the page's clock. */
export async function run(): Promise<string[]> {
  for (const [name, test] of Object.entries(tests)) {
    try {
      await test();
    } catch (fault) {
      faults.push(`${name}: ${fault instanceof Error ? (fault.stack ?? fault.message) : String(fault)}`);
    }
  }
  return faults;
}
