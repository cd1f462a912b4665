// Tests of the modules that decide something, run in the browser by TestModules. run answers with what is wrong.

import { I18n, preferred } from "../src/shared/i18n.ts";
import { minor, yuan } from "../src/shared/money.ts";
import { strings } from "../src/play/strings.js";
import { stage } from "../src/play/stage.js";
import { Wallet } from "../src/play/wallet.js";
import { LOOKS } from "../src/rain/looks.ts";
import { countdown, phaseOf } from "../src/rain/phase.ts";
import { Sky, place, topmost } from "../src/rain/sky.ts";
import { mergeNewest } from "../src/rain/winners.ts";

const OUTCOMES = ["won", "already", "sold_out", "not_open", "limited", "empty", "late", "unknown_drop", "too_fast", "unavailable"];
const VIEW = { width: 390, height: 844, top: 60 };
const faults = [];

function same(what, got, want) {
  const [a, b] = [JSON.stringify(got), JSON.stringify(want)];
  if (a !== b) faults.push(`${what}: ${a}, want ${b}`);
}

// wave is a wave message as the client gives it; each drop is x, kind, fall in ms.
function wave(rain, n, at, ...drops) {
  return { rain, n, at, drops: drops.map(([x, kind, fall_ms], k) => ({ id: `${n}.${k}`, x, kind, at, fall_ms })) };
}

const tests = {
  money() {
    for (const [n, text] of [[0, "0.00"], [7, "0.07"], [88, "0.88"], [123456, "1,234.56"], [-5, "-0.05"], [1e15, "10,000,000,000,000.00"]]) same(`yuan ${n}`, yuan(n), text);
    for (const [text, n] of [["1", 100], ["0.07", 7], [" 12.3 ", 1230], ["", null], ["1.234", null], ["-1", null], ["1e3", null]]) same(`minor ${text}`, minor(text), n);
  },

  languages() {
    for (const [key, text] of Object.entries(strings)) {
      for (const lang of ["zh", "en"]) if (!text[lang]) faults.push(`${key} is missing in ${lang}`);
      const holes = (s) => [...s.matchAll(/\{\w+\}/g)].map(String).sort();
      same(`${key}: what is filled in`, holes(text.zh), holes(text.en));
    }
    same("zh", preferred(["fr", "zh-TW", "en"]), "zh");
    same("en", preferred(["en-GB", "zh"]), "en");
    same("others", preferred(["de"]), "en");
    same("filled in", new I18n(strings, "en").t("won", { amount: "0.88" }), "+¥0.88");
  },

  outcomesReadAndLookDifferently() {
    for (const lang of ["zh", "en"]) {
      const said = [...OUTCOMES, "decoy"].map((o) => strings[o]?.[lang]);
      same(`words in ${lang}`, new Set(said).size, said.length);
    }
    const looks = [...OUTCOMES, "decoy"].map((o) => JSON.stringify(LOOKS[o]?.plate));
    same("looks", new Set(looks).size, looks.length);
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
    const rain = { phase: "countdown", starts_at: 10_000, ends_at: 20_000 };
    const campaign = { id: "c1", state: "ready", wins_per_user: 1 };
    const mode = (model, t = 0) => stage({ problem: null, campaign, rain: null, stock: null, ...model }, t).mode;
    same("entering", mode({ campaign: null }), "entering");
    same("waiting", mode({}), "waiting");
    same("countdown", mode({ rain }, 7_500), "countdown");
    same("its number", stage({ campaign, rain }, 7_500).big, "3");
    same("falling", mode({ rain }, 12_000), "falling");
    same("sold out shows after the rain", [mode({ rain, stock: 0 }, 12_000), mode({ rain, stock: 0 }, 20_000)], ["falling", "over"]);
    same("closed", mode({ campaign: { ...campaign, state: "closed" } }), "over");
    same("problem", mode({ problem: { title: "x" }, rain }, 12_000), "problem");
  },

  places() {
    const sky = new Sky();
    sky.add(wave("r1", 7, 1_000, [500, "packet", 4_000], [500, "decoy", 4_000]));
    sky.add(wave("r1", 7, 1_000, [0, "packet", 4_000]));
    same("a wave counts once", sky.drops.length, 2);
    const [a, b] = sky.drops; // in the order in which they are drawn
    same("ids", sky.drops.map((d) => `${d.id} ${d.decoy}`).sort(), ["7.0 false", "7.1 true"]);
    same("the far ones are drawn first", a.depth <= b.depth && a.scale <= b.scale, true);
    same("not yet", place(a, 999, VIEW), null);
    same("no more", place(a, 5_001, VIEW), null);
    same("a function of the time alone", place(a, 3_000, VIEW), place({ ...a }, 3_000, { ...VIEW }));
    const [top, bottom] = [place(a, 1_000, VIEW), place(a, 5_000, VIEW)];
    if (!(top.y + top.h / 2 <= 0 && bottom.y - bottom.h / 2 >= VIEW.height)) faults.push("it does not come from above and leave below");
    for (const t of [1_500, 3_000, 4_900]) {
      const p = place(a, t, VIEW);
      if (p.x - p.w / 2 < 0 || p.x + p.w / 2 > VIEW.width) faults.push(`it leaves the screen sideways at ${t}`);
    }
    const at = place(a, 3_000, VIEW);
    same("the topmost is the one drawn last", topmost(sky.drops, 3_000, VIEW, at.x, at.y)?.drop.id, b.id);
    b.tapped = true;
    same("what was tapped lets through", topmost(sky.drops, 3_000, VIEW, at.x, at.y)?.drop.id, a.id);
    same("beside it", topmost(sky.drops, 3_000, VIEW, at.x + at.w, at.y), null);
    for (const width of [320, 390, 1920]) {
      const small = { width, height: 568, top: 0 };
      const p = place(a, 3_000, small, true);
      const hit = (dx, dy) => topmost([a], 3_000, small, p.x + dx, p.y + dy, true) !== null;
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

  wallet() {
    const w = new Wallet();
    w.welcome([{ claim: "c-2", packet: "2", amount: 20, state: "granted" }, { claim: "c-1", packet: "1", amount: 10, state: "settled" }], 2);
    same("newest first", w.list().map((c) => c.claim), ["c-2", "c-1"]);
    same("coming", w.coming, 20);
    same("a new win", w.won({ claim: "c-3", packet: "3", amount: 30 }), true);
    same("the same win again", w.won({ claim: "c-3", packet: "3", amount: 30 }), false);
    same("count", w.count, 3);
    w.settled([{ claim: "c-3", amount: 30 }], 40);
    w.won({ claim: "c-3", packet: "3", amount: 30 });
    same("a late result takes nothing back", [w.list()[0], w.balance], [{ claim: "c-3", packet: "3", amount: 30, state: "settled" }, 40]);
    w.page([{ claim: "c-2", packet: "2", amount: 20, state: "settled" }, { claim: "b-9", packet: "9", amount: 5, state: "settled" }]);
    same("with older ones from elsewhere", w.list().map((c) => c.claim), ["c-3", "c-1", "c-2", "b-9"]);
    same("nothing is coming", w.coming, 0);
  },

  winners() {
    const w = (...names) => names.map((user) => ({ user, amount: 1 }));
    same("new ones come first", mergeNewest(w("b", "a"), w("c"), 9), w("c", "b", "a"));
    same("what overlaps is known", mergeNewest(w("b", "a"), w("d", "c", "b", "a"), 9), w("d", "c", "b", "a"));
    same("the same again", mergeNewest(w("b", "a"), w("b", "a"), 9), w("b", "a"));
    same("a part", mergeNewest(w("c", "b", "a"), w("d", "c"), 9), w("d", "c", "b", "a"));
    same("none", mergeNewest(w("a"), [], 9), w("a"));
    same("not more than fit", mergeNewest(w("b", "a"), w("c"), 2), w("c", "b"));
  },
};

export function run() {
  for (const [name, test] of Object.entries(tests)) {
    const before = faults.length;
    try {
      test();
    } catch (fault) {
      faults.push(String(fault.stack));
    }
    for (let i = before; i < faults.length; i++) faults[i] = `${name}: ${faults[i]}`;
  }
  return faults;
}

// middleOf is where a drop of a rain is on this screen at a time, for a test that taps it.
export function middleOf(drop, t) {
  const sky = new Sky();
  sky.add(wave("r", drop.n, drop.at, [drop.x, "packet", drop.fall]));
  const at = place(sky.drops[0], t, { width: innerWidth, height: innerHeight, top: 0 });
  return [at.x, at.y];
}
