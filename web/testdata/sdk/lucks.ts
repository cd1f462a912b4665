// A player's luck, held against the values that the server's tests have too (rain/luck_test.go).

import { checkLuck, luck, wins } from "../../sdk/luck.ts";
import type { Fairness } from "../../sdk/index.ts";
import type { Check } from "./world.ts";

const SEED = Array.from({ length: 32 }, (_, i) => i.toString(16).padStart(2, "0")).join("");
const COMMITMENT = "630dcd2966c4336691125448bbb25b4ff412a49c732db2c8abc1b8581bd710dd";

const fairness = (part: Partial<Fairness["schedule"]> = {}, seed: string | undefined = SEED): Fairness => ({
  commitment: COMMITMENT,
  ...(seed ? { seed } : {}),
  schedule: { campaign: "c1", starts_at: 1_000, first_wave: 40, waves: 80, odds: 0.25, beat_ms: 1_000, ...part },
});

export const lucks: Record<string, (c: Check) => void> = {
  "has the server's values"(c) {
    const want: [string, number, bigint][] = [
      ["u1", 0, 0x8fb0d15ba69b7d1n], ["u1", 1, 0x56455874fd8c35c4n], ["u1", 239, 0x6108600d600f0f9fn],
      ["guest-00112233445566778899", 7, 0x9bb49bfed81cf9c9n], ["张三", 3, 0xc66a3ebc0303d347n],
    ];
    for (const [user, beat, draw] of want) c.same(`${user} ${beat}`, String(luck(SEED, user, beat)), String(draw));
    const ends: [number, bigint][] = [[1e-9, 0x44b82fa09n], [0.25, 0x4000000000000000n], [0.333333333, 0x55555553e6d45752n], [0.999999999, 0xfffffffbb47d05f6n]];
    for (const [odds, end] of ends) c.same(`odds ${odds}`, [wins(end - 1n, odds), wins(end, odds)].join(), "true,false");
    c.same("odds 1", wins(2n ** 64n - 1n, 1), true);
  },
  "finds a single altered answer"(c) {
    const all = checkLuck(fairness(), "u1", []);
    c.same("beats", all?.beats.length, 20);
    c.same("honest", all?.honest, true);
    c.same("lucky", all?.lucky, all?.beats.filter((b) => b.lucky).length);
    const [good, bad] = [all?.beats.find((b) => b.lucky)?.beat ?? -1, all?.beats.find((b) => !b.lucky)?.beat ?? -1];
    const claim = (beat: number) => ({ claim: `c1-${beat}`, ticket: `b${40 + 4 * beat}` });
    c.same("a lucky claim", checkLuck(fairness(), "u1", [claim(good)])?.honest, true);
    const altered = checkLuck(fairness(), "u1", [claim(good), claim(bad)]);
    c.same("an altered one", [altered?.honest, altered?.ungranted.join()].join(), `false,c1-${bad}`);
    c.same("another seed", checkLuck(fairness(), "u1", [], "00")?.honest, false);
  },
  "knows when there is nothing to check"(c) {
    c.same("before the end", checkLuck(fairness({}, ""), "u1", []), null);
    c.same("without draws", checkLuck(fairness({ odds: 1 }), "u1", []), null);
  },
  "goes by the record of the odds"(c) {
    const record = [{ beat: 0, odds: 0.9 }, { beat: 5, odds: 1e-9 }];
    const found = checkLuck(fairness({ odds: "auto", odds_record: record, waves: 240 }), "u1", []);
    c.same("odds", [0, 4, 5, 59].map((b) => found?.beats[b]?.odds).join(), "0.9,0.9,1e-9,1e-9");
    const told = (beat: number) => checkLuck(fairness({ odds: "auto", odds_record: record, waves: 240 }), "u1", [{ claim: "c1-1", ticket: `b${40 + 4 * beat}` }])?.honest;
    c.same("a node that had not heard", [14, 15].map(told).join(), `${wins(luck(SEED, "u1", 14), 0.9)},false`);
  },
  "goes by the guests' record for guests"(c) {
    const lanes = fairness({ odds: "auto", odds_record: [{ beat: 0, odds: 0.9 }], guests_odds_record: [{ beat: 0, odds: 0.2 }], waves: 240 });
    for (const [user, odds] of [["u1", 0.9], ["guest-x", 0.9], ["guest-00112233445566778899", 0.2]] as const) {
      c.same(user, checkLuck(lanes, user, [])?.beats[7]?.odds, odds);
    }
    const alike = fairness({ odds: "auto", odds_record: [{ beat: 0, odds: 0.9 }], waves: 240 });
    c.same("one lane", checkLuck(alike, "guest-00112233445566778899", [])?.beats[7]?.odds, 0.9);
  },
};
