// Tests of the modules that decide something, run in the browser by TestPlayModules. run answers with what is wrong.

import { verdict } from "../src/late/luck.ts";
import { I18n, type Lang, type Table, preferred } from "../src/shared/i18n.ts";
import { minor, yuan } from "../src/shared/money.ts";
import { strings } from "../src/play/strings.ts";
import { problemOf } from "../src/play/problem.ts";
import { phrases } from "../src/shared/phrases.ts";
import { spread } from "../src/play/lobby.ts";
import { Combo, Rounds } from "../src/play/round.ts";
import { prizeOf } from "../src/rain/prize.ts";
import type { LuckOf } from "../sdk/index.ts";
import { type Scenery, type Stage, stage } from "../src/play/stage.ts";
import { Wallet } from "../src/play/wallet.ts";
import { inside } from "../src/rain/effects.ts";
import { Frames } from "../src/rain/frames.ts";
import { LOOKS } from "../src/rain/looks.ts";
import { countdown, phaseOf } from "../src/rain/phase.ts";
import { type Drop, type Place, Sky, type View, type Wave, place, topmost } from "../src/rain/sky.ts";
import { type Winner, masked, mergeNewest } from "../src/rain/winners.ts";
import { qualityAfter } from "../src/screen/wall.ts";

const OUTCOMES = ["won", "already", "sold_out", "not_open", "limited", "empty", "late", "unknown_drop", "too_fast", "unavailable"];
const LANGS: readonly Lang[] = ["zh", "en"];
const VIEW = { width: 390, height: 844, top: 60 };
const faults: string[] = [];

function same(what: string, got: unknown, want: unknown): void {
  const [a, b] = [JSON.stringify(got), JSON.stringify(want)];
  if (a !== b) faults.push(`${what}: ${a}, want ${b}`);
}

// wave is a wave message as the client gives it; each drop is x, kind, fall in ms.
function wave(rain: string, n: number, at: number, ...drops: [number, "packet" | "decoy", number][]): Wave {
  return { rain, n, at, drops: drops.map(([x, kind, fall_ms], k) => ({ id: `${n}.${k}`, x, kind, fall_ms })) };
}

const tests = {
  money() {
    const written: [number, string][] = [[0, "0.00"], [7, "0.07"], [88, "0.88"], [123456, "1,234.56"], [-5, "-0.05"], [1e15, "10,000,000,000,000.00"]];
    for (const [n, text] of written) same(`yuan ${n}`, yuan(n), text);
    const read: [string, number | null][] = [["1", 100], ["0.07", 7], [" 12.3 ", 1230], ["", null], ["1.234", null], ["-1", null], ["1e3", null]];
    for (const [text, n] of read) same(`minor ${text}`, minor(text), n);
  },

  languages() {
    const table: Table = strings;
    for (const [key, text] of Object.entries(table)) {
      for (const lang of LANGS) if (!text[lang]) faults.push(`${key} is missing in ${lang}`);
      const holes = (s: string): string[] => [...s.matchAll(/\{\w+\}/g)].map(String).sort();
      same(`${key}: what is filled in`, holes(text.zh), holes(text.en));
    }
    same("zh", preferred(["fr", "zh-TW", "en"]), "zh");
    same("en", preferred(["en-GB", "zh"]), "en");
    same("others", preferred(["de"]), "en");
    same("filled in", new I18n(strings, "en").t("won", { amount: "0.88" }), "+¥0.88");
  },

  outcomesReadAndLookDifferently() {
    const table: Table = strings;
    for (const lang of LANGS) {
      const said = [...OUTCOMES, "decoy"].map((o) => table[o]?.[lang]);
      same(`words in ${lang}`, new Set(said).size, said.length);
    }
    const looks = [...OUTCOMES, "decoy"].map((o) => LOOKS[o]);
    same("plates", new Set(looks.map((l) => JSON.stringify(l?.plate))).size, looks.length);
    const signs = looks.map((l) => l?.sign ?? "");
    same("signs, told without colours (two kinds of 'no more')", new Set(signs).size, looks.length - 1);
  },

  phases() {
    const rain = { phase: "countdown", starts_at: 1_000, ends_at: 5_000 };
    same("none", phaseOf(null, 0), "none");
    same("before", phaseOf(rain, 999), "countdown");
    same("begins by itself", phaseOf(rain, 1_000), "falling");
    same("ends by itself", phaseOf(rain, 5_000), "ended");
    same("paused", phaseOf({ ...rain, phase: "paused" }, 2_000), "paused");
    same("stopped", phaseOf({ ...rain, phase: "ended" }, 2_000), "ended");
    same("seconds", [countdown(2_001), countdown(2_000), countdown(61_000), countdown(3_600_000)], ["3", "2", "1:01", "1:00:00"]);
  },

  stages() {
    const rain = { phase: "countdown", starts_at: 20_000, ends_at: 30_000 } as const;
    const campaign = { id: "c1", state: "ready", wins_per_user: 2 } as const;
    const at = (s: Partial<Scenery>, t = 0): Stage => stage({ problem: null, campaign, rain: null, stock: null, ...s }, t);
    const mode = (s: Partial<Scenery>, t = 0): string => at(s, t).mode;
    same("landing", mode({ landing: true, campaign: null }), "landing");
    same("entering", mode({ campaign: null }), "entering");
    same("waiting", mode({}), "waiting");
    same("countdown", mode({ rain }, 17_500), "countdown");
    same("its number", [at({ rain }, 17_500).big, at({ rain }, 17_500).calm], ["3", false]);
    same("a long time stands quietly", [at({ rain }, 9_999).calm, at({ rain }, 10_001).calm], [true, false]);
    same("falling", mode({ rain }, 22_000), "falling");
    same("go, also for who comes late", [20_100, 21_000, 25_100].map((t) => at({ rain, since: 25_000 }, t).big), ["go", "go", "go"]);
    same("the words around it keep their places", [at({ rain }, 20_100).title, at({ rain }, 20_100).hint], [at({ rain }, 19_900).title, at({ rain }, 19_900).hint]);
    same("and then no more", [at({ rain }, 21_000).big, at({ rain, since: 25_000 }, 26_000).big], [undefined, undefined]);
    same("sold out shows after the rain", [mode({ rain, stock: 0 }, 22_000), mode({ rain, stock: 0 }, 30_000)], ["falling", "over"]);
    same("and in a line while it rains", at({ rain, stock: 0 }, 22_000).note?.key, "note_sold_out");
    same("others may win on", [at({ rain, stock: 0, lanes: true }, 22_000).note?.key, at({ rain, stock: 0, lanes: true }, 30_000).title], ["lane_gone", "lane_gone"]);
    same("who has all that one may have is told", [0, 1, 2].map((packets) => at({ rain, packets }, 22_000).note?.key), [undefined, undefined, "note_full"]);
    same("paused", mode({ rain: { ...rain, phase: "paused" } }, 22_000), "paused");
    same("closed", mode({ campaign: { ...campaign, state: "closed" } }), "over");
    same("problem", mode({ problem: { title: "signin_title", hint: "signin_hint" }, rain }, 22_000), "problem");
  },

  ends() {
    same("who could not be told from a program tries again", problemOf(403, "challenge_required").retry, true);
    const ways = [4500, 403, 4502, 4501, 4505].map((code) => problemOf(code));
    same("each way out", ways.map((p) => (p.signin ? "signin" : p.retry ? "retry" : "none")), ["signin", "signin", "retry", "retry", "retry"]);
    same("each reads differently", new Set(ways.map((p) => p.title + p.hint)).size, ways.length);
  },

  phrases() {
    same("a year keeps its animal", phrases("2026马年红包雨"), ["2026", "马年", "红包雨"]);
    same("an event", phrases("年会红包雨"), ["年会", "红包雨"]);
    same("nothing is lost", phrases("Gala 2026 · 恭喜发财 大吉").join(""), "Gala 2026 · 恭喜发财 大吉");
    same("no Chinese", phrases("Year of the horse"), ["Year of the horse"]);
  },

  prizes() {
    same("by the average of the event", [1, 199, 200, 499, 500].map((amount) => prizeOf(amount, 100)), ["plain", "plain", "gold", "gold", "fortune"]);
    same("nothing is said where it is not known", prizeOf(1e9, 0), "plain");
  },

  spread() {
    same("nobody knows", spread(null), 0);
    same("it rains, or an older server says nothing", spread({ told: 5 }, 6), 0);
    same("an hour before", spread({ starts_in_ms: 3_600_000, told: 0 }, 10), 3_000);
    same("soon", spread({ starts_in_ms: 6_000, told: 1_000 }, 3_000), 1_000);
    same("too late", spread({ starts_in_ms: 6_000, told: 1_000 }, 8_000), 0);
  },

  rounds() {
    const rounds = new Rounds();
    const r = rounds.of("r1");
    same("a win", r.won("c-1", 30, "plain"), true);
    same("the same win again", r.won("c-1", 30, "plain"), false);
    r.won("c-2", 88, "plain");
    same("what the card says", [r.wins, r.amount, r.best], [2, 118, 88]);
    same("luck comes once more with the same win", [r.won("c-2", 88, "plain", 93), r.wins, r.luck], [false, 2, 93]);
    same("no card of what was not seen", rounds.card(() => true), null);
    r.played = true;
    rounds.of("r2");
    same("the next rain does not take the card away", rounds.card((id) => id !== "r2")?.rain, "r1");
    r.dismissed = true;
    same("closed", rounds.card(() => true), null);
    const cut = rounds.of("r2");
    cut.played = true;
    cut.lost = 1;
    same("a win that nobody was told of is the rain's whose taps were lost", rounds.unheard("r9")?.rain, "r2");
    same("there may be one", cut.unsure, 1);
    rounds.told();
    same("until all are named", [cut.unsure, rounds.unheard("r9")], [0, null]);
    rounds.of("r3");
    same("forgotten after two more", rounds.of("r1") === r, false);
  },

  luck() {
    const beat = (i: number, lucky: boolean, claim = ""): LuckOf["beats"][number] => ({ beat: i, at: i * 1_000, odds: 0.5, lucky, ...(claim ? { claim } : {}) });
    const beats = [beat(0, true), beat(1, false), beat(2, true, "c-1"), beat(3, true, "c-2"), beat(4, true), beat(5, false), beat(6, true)];
    const said = (ended: number, full: boolean, of = beats): unknown => {
      const [key, { n, lucky, won, after, missed }] = verdict({ beats: of, lucky: 0, honest: true, ungranted: [] }, ended, full);
      return [key, n, lucky, won, after, missed];
    };
    same("some came after the last possible win", said(9_000, true), ["luck_both", 7, 5, 2, 2, 1]);
    same("more could be won", said(9_000, false), ["luck_missed", 7, 5, 2, 0, 3]);
    same("beats after a stop never were", said(3_500, false), ["luck_missed", 4, 3, 2, 0, 1]);
    same("only the limit", said(9_000, true, beats.slice(2)), ["luck_full", 5, 4, 2, 2, 0]);
    same("each of them won", said(9_000, false, beats.slice(2, 4)), ["luck_fair", 2, 2, 2, 0, 0]);
    same("won by the odds before", said(9_000, true, [beat(0, false, "c-1")]), ["luck_fair", 1, 1, 1, 0, 0]);
    same("full since an earlier rain", said(9_000, true, [beat(0, true)]), ["luck_full", 1, 1, 0, 1, 0]);
    same("a packet that was not granted", verdict({ beats, lucky: 5, honest: false, ungranted: ["c-2"] }, 9_000, true), ["luck_unfair", { claims: "c-2" }]);
  },

  combos() {
    const c = new Combo();
    same("counts", [c.hit(0), c.hit(2_000), c.hit(4_500)], [1, 2, 3]);
    same("lasts a while", [c.value(7_000), c.value(7_001)], [3, 0]);
    same("begins again", c.hit(8_000), 1);
    c.end();
    same("a bomb ends it", c.value(8_001), 0);
  },

  places() {
    const sky = new Sky();
    sky.add(wave("r1", 7, 1_000, [500, "packet", 4_000], [500, "decoy", 4_000]));
    sky.add(wave("r1", 7, 1_000, [0, "packet", 4_000]));
    same("a wave counts once", sky.drops.length, 2);
    const [a, b] = two(sky.drops); // in the order in which they are drawn
    same("ids", sky.drops.map((d) => `${d.id} ${d.decoy}`).sort(), ["7.0 false", "7.1 true"]);
    same("the far ones are drawn first", a.depth <= b.depth && a.scale <= b.scale, true);
    same("not yet", place(a, 999, VIEW), null);
    same("no more", place(a, 5_001, VIEW), null);
    same("a function of the time alone", place(a, 3_000, VIEW), place({ ...a }, 3_000, { ...VIEW }));
    const [top, bottom] = [seen(a, 1_000, VIEW), seen(a, 5_000, VIEW)];
    if (!(top.y + top.h / 2 <= 0 && bottom.y - bottom.h / 2 >= VIEW.height)) faults.push("it does not come from above and leave below");
    for (const t of [1_500, 3_000, 4_900]) {
      const p = seen(a, t, VIEW);
      if (p.x - p.w / 2 < 0 || p.x + p.w / 2 > VIEW.width) faults.push(`it leaves the screen sideways at ${t}`);
    }
    const at = seen(a, 3_000, VIEW);
    same("the topmost is the one drawn last", topmost(sky.drops, 3_000, VIEW, at.x, at.y)?.drop.id, b.id);
    b.tapped = true;
    same("what was tapped lets through", topmost(sky.drops, 3_000, VIEW, at.x, at.y)?.drop.id, a.id);
    same("beside it", topmost(sky.drops, 3_000, VIEW, at.x + at.w, at.y), null);
    for (const width of [320, 390, 1920]) {
      const small = { width, height: 568, top: 0 };
      const p = seen(a, 3_000, small, true);
      const hit = (dx: number, dy: number): boolean => topmost([a], 3_000, small, p.x + dx, p.y + dy, true) !== null;
      if (!hit(23.9, 0) || !hit(0, 23.9)) faults.push(`less than 48 px to hit on ${width} px`);
    }
    sky.prune(5_001);
    same("landed", sky.drops.length, 0);
    sky.add(wave("r2", 8, 9_000, [1, "packet", 500]));
    same("another rain", [sky.rain, sky.drops.length], ["r2", 1]);
    sky.add(wave("r2", 6, 8_500, [1, "packet", 4_000]));
    const order = sky.drops.map((d) => d.id);
    const other = new Sky();
    other.add(wave("r2", 6, 8_500, [1, "packet", 4_000]));
    other.add(wave("r2", 8, 9_000, [1, "packet", 500]));
    same("in one order, however they come", other.drops.map((d) => d.id), order);
  },

  plates() {
    const plate = { w: 200, h: 110 };
    for (const width of [320, 390, 1280]) {
      const view = { width, height: 568, top: 120 };
      for (const [x, y] of [[0, 0], [width, 0], [0, 568], [width, 568], [width / 2, 300]] as const) {
        for (const [label, size] of [[plate, 1.35], [{ w: width + 28, h: 110 }, 1.35], [plate, 1]] as const) {
          const at = inside(label, x, y, size, view);
          const [w, h] = [label.w * at.size - 28, label.h * at.size - 28]; // without the shadow
          const out = at.x - w / 2 < -0.1 || at.x + w / 2 > width + 0.1 || at.y - h / 2 < 119.9 || at.y + h / 2 > 568.1;
          if (out) faults.push(`a plate of ${label.w} px at ${x}, ${y} leaves a screen of ${width} px`);
        }
      }
      same("a plate with room stays where the tap was", inside(plate, width / 2, 300, 1, view), { x: width / 2, y: 300, size: 1 });
    }
  },

  paces() {
    const after = (gap: number): number => {
      const frames = new Frames();
      let quality = 1;
      for (let at = 5_000; at < 7_500; at += gap) quality = qualityAfter(frames.begin(at), quality);
      return quality;
    };
    same("a wall that keeps up keeps its pixels", [after(8), after(16.7)], [1, 1]);
    same("so does one that draws each other frame to save power", after(33.3), 1);
    same("one that does not gives up some, and not all", after(60), 0.5);
  },

  wallet() {
    const w = new Wallet();
    w.welcome([{ claim: "c-2", packet: "2", amount: 20, state: "granted" }, { claim: "c-1", packet: "1", amount: 10, state: "settled" }], 2);
    same("newest first", w.list().map((c) => c.claim), ["c-2", "c-1"]);
    w.me(10);
    same("the balance is right", w.welcome([{ claim: "c-1", packet: "1", amount: 10, state: "settled" }], 2), false);
    const away = new Wallet();
    away.me(0);
    away.won({ claim: "c-1", packet: "1", amount: 10 });
    same("settled while away", away.welcome([{ claim: "c-1", packet: "1", amount: 10, state: "settled" }]), true);
    same("coming", w.coming, 20);
    same("of one campaign", [w.amounts("c"), w.amounts("b")], [[20, 10], []]);
    same("a new win", w.won({ claim: "c-3", packet: "3", amount: 30 }), true);
    same("the same win again", w.won({ claim: "c-3", packet: "3", amount: 30 }), false);
    same("count", w.count, 3);
    w.settled([{ claim: "c-3", amount: 30 }], 40);
    w.won({ claim: "c-3", packet: "3", amount: 30 });
    same("a late result takes nothing back", [w.list()[0], w.balance], [{ claim: "c-3", packet: "3", amount: 30, state: "settled" }, 40]);
    w.page([{ claim: "c-2", packet: "2", amount: 20, state: "settled" }, { claim: "b-9", packet: "9", amount: 5, state: "settled" }]);
    same("with older ones from elsewhere", w.list().map((c) => c.claim), ["c-3", "c-1", "c-2", "b-9"]);
    same("nothing is coming", w.coming, 0);
    const out = { withdrawal: "w1", user: "u", amount: 30, state: "pending", created_at: 5 } as const;
    same("a withdrawal is news", w.withdrawal(out, 10), true);
    same("once", w.withdrawal(out), false);
    same("paid", w.withdrawal({ ...out, state: "paid" }), true);
    w.withdrawal(out, 99);
    same("it is never pending again", [w.withdrawals()[0]?.state, w.balance], ["paid", 10]);
    same("newest first", (w.withdrawal({ ...out, withdrawal: "w2", created_at: 6 }), w.withdrawals().map((x) => x.withdrawal)), ["w2", "w1"]);
  },

  winners() {
    const w = (...names: string[]): Winner[] => names.map((user) => ({ user, amount: 1 }));
    same("as the server masks", ["guest-0123456789abcdef1a2b", "guest-1a2b", "张三", "𝒳y", ""].map(masked), ["g*1a2b", "g*", "张*", "𝒳*", "*"]);
    same("new ones come first", mergeNewest(w("b", "a"), w("c"), 9), w("c", "b", "a"));
    same("what overlaps is known", mergeNewest(w("b", "a"), w("d", "c", "b", "a"), 9), w("d", "c", "b", "a"));
    same("the same again", mergeNewest(w("b", "a"), w("b", "a"), 9), w("b", "a"));
    same("a part", mergeNewest(w("c", "b", "a"), w("d", "c"), 9), w("d", "c", "b", "a"));
    same("none", mergeNewest(w("a"), [], 9), w("a"));
    same("not more than fit", mergeNewest(w("b", "a"), w("c"), 2), w("c", "b"));
  },
};

export function run(): string[] {
  for (const [name, test] of Object.entries(tests)) {
    const before = faults.length;
    try {
      test();
    } catch (fault) {
      faults.push(fault instanceof Error ? String(fault.stack) : String(fault));
    }
    for (let i = before; i < faults.length; i++) faults[i] = `${name}: ${faults[i]}`;
  }
  return faults;
}

/** middleOf is where a drop of a rain is on this screen at a time, for a test that taps it. */
export function middleOf(drop: { n: number; k: number; at: number; x: number; fall: number }, t: number): [number, number] {
  const sky = new Sky();
  sky.add({ rain: "r", n: drop.n, at: drop.at, drops: [{ id: `${drop.n}.${drop.k}`, x: drop.x, kind: "packet", fall_ms: drop.fall }] });
  const at = seen(two([...sky.drops, ...sky.drops])[0], t, { width: innerWidth, height: innerHeight, top: 0 });
  return [at.x, at.y];
}

function two(drops: readonly Drop[]): [Drop, Drop] {
  const [a, b] = drops;
  if (!a || !b) throw new Error(`${drops.length} drops`);
  return [a, b];
}

function seen(drop: Drop, t: number, view: View, still = false): Place {
  const at = place(drop, t, view, still);
  if (!at) throw new Error(`${drop.id} is not in the air`);
  return at;
}
