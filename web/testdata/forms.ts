// Tests of what decides something in the console's forms and lists, run in the browser by TestConsoleFormModules. run answers
// with what is wrong; judge is for the test that holds the form's limits against the server's.

import { curl, quote } from "../src/console/apipage/curl.ts";
import { groups } from "../src/console/apipage/tasks.ts";
import { samePerson } from "../src/console/approvals/said.ts";
import { matches, placeOf } from "../src/console/audit/search.ts";
import { claimsPath } from "../src/console/claims/filter.ts";
import { saveCSV, size, type Sink } from "../src/console/claims/csv.ts";
import { readAmounts, readCount, readYuan, writeAmounts } from "../src/console/create/amounts.ts";
import { draftOf, emptyDraft, nextName, type Draft } from "../src/console/create/draft.ts";
import { COUNTS, eachCount } from "../src/console/create/limits.ts";
import { exactBins, oddsAbout, percentile, roundOdds } from "../src/console/create/odds.ts";
import { check } from "../src/console/create/validate.ts";
import type { Table } from "../src/shared/i18n.ts";
import { apipage } from "../src/console/strings/apipage.ts";
import { approvals } from "../src/console/strings/approvals.ts";
import { audit, books } from "../src/console/strings/books.ts";
import { claims } from "../src/console/strings/claims.ts";
import { counts, create, faults as faultTexts } from "../src/console/strings/create.ts";
import { payouts } from "../src/console/strings/payouts.ts";
import { people } from "../src/console/strings/people.ts";
import { sponsors } from "../src/console/strings/sponsors.ts";
import { withdrawals } from "../src/console/strings/withdrawals.ts";
import { actorName, acts } from "../src/console/withdrawals/acts.ts";
import type { AuditRecord, Campaign, WithdrawalRecord } from "../src/shared/schemas.ts";

const wrong: string[] = [];

function same(what: string, got: unknown, want: unknown): void {
  const [a, b] = [JSON.stringify(got), JSON.stringify(want)];
  if (a !== b) wrong.push(`${what}: ${a}, want ${b}`);
}

const COUNT_RULES = { ...eachCount((field) => COUNTS[field].begin), wins_per_user: 3, shards: 2, capacity: 4, admit_per_second: 5 };

const campaign: Campaign = {
  id: "c1", name: "Bob's \"Gala\" $HOME", sponsor: "acme", budget: 1_000_000, packets: 5_000, split: "gaussian", min: 50, max: 350, amounts: null,
  ...COUNT_RULES, guests_share: 0.07, expires_in_ms: 5_400_000, state: "ready", created_at: 0, expires_at: 0, revision: 1, rains: [],
};

/** A file that is kept in memory. */
class Memory implements Sink {
  text = "";
  state = "open";
  async write(chunk: Uint8Array): Promise<void> {
    this.text += new TextDecoder().decode(chunk);
  }
  async close(): Promise<void> {
    this.state = "closed";
  }
  async abort(): Promise<void> {
    this.state = "aborted";
  }
}

function stream(chunks: string[], fault?: Error): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull(c) {
      const next = chunks.shift();
      if (next !== undefined) c.enqueue(new TextEncoder().encode(next));
      else if (fault) c.error(fault);
      else c.close();
    },
  });
}

const tests: Record<string, () => void | Promise<void>> = {
  amounts() {
    const table: [string, number | null][] = [
      ["88", 8_800], ["0.88", 88], ["0.8", 80], [" 12.30 ", 1_230], ["1,234,567.89", 123_456_789], ["¥88", 8_800], ["￥ 88.8", 8_880], ["88元", 8_800],
      ["８８．５", 8_850], ["10000000000000", 1e15], ["0.29", 29], ["1.005", null], ["1,23", null], ["12,3456", null], ["", null], ["-1", null], ["1e3", null], ["0x10", null],
      ["八十八", null], [".5", null], ["5.", null], ["1 000", null],
    ];
    for (const [text, want] of table) same(`yuan ${text}`, readYuan(text), want);
    for (const [text, want] of [["5000", 5_000], ["5,000", 5_000], ["５０", 50], ["5.5", null], ["", null], ["50,00", null], ["-5", null]] as const) same(`count ${text}`, readCount(text), want);
  },

  lists() {
    const list = readAmounts("88.88\n8.88×3, 1.00;2；3、4，5\t￥ 6\n0.5 x 2");
    same("amounts", list.amounts, [8_888, 888, 888, 888, 100, 200, 300, 400, 500, 600, 50, 50]);
    same("sum", list.sum, list.amounts.reduce((n, a) => n + a, 0));
    same("nothing", readAmounts("  \n , "), { amounts: [], sum: 0, bad: null, tooMany: false });
    same("the first that is none", readAmounts("1, 2\nthree\nfour").bad, { text: "three", at: 3 });
    same("a half", readAmounts("1×2×3").bad, { text: "1×2×3", at: 1 });
    same("too many are not made", readAmounts("0.01×1000001"), { amounts: [], sum: 0, bad: null, tooMany: true });
    const written = [500, 500, 500, 1, 500, 123_456];
    same("written", writeAmounts(written), "5.00×3\n0.01\n5.00\n1234.56");
    same("and read again", readAmounts(writeAmounts(written)).amounts, written);
  },

  clones() {
    for (const [name, next] of [["Gala", "Gala (2)"], ["Gala (2)", "Gala (3)"], ["Gala (9)", "Gala (10)"], ["年会", "年会 (2)"], ["(2)", "(2) (2)"]] as const) same(`after ${name}`, nextName(name), next);
    const body = check(draftOf(campaign)).body;
    const { name, sponsor, budget, packets, split, min, max, expires_in_ms } = campaign;
    same("a clone is the same but for its name", body, {
      name: nextName(name), sponsor, budget, packets, split, min, max, amounts: null, ...COUNT_RULES, players: null, guests_share: 0.07, expires_in_ms,
    });
    const listed: Campaign = { ...campaign, split: "list", min: 1, max: null, budget: 300, packets: 3, shards: 1, guests_share: null, amounts: [50, 50, 200], expires_in_ms: 1_001 };
    const again = check(draftOf(listed)).body;
    same("with its list", [again?.amounts, again?.budget, again?.packets, again?.expires_in_ms], [[50, 50, 200], 300, 3, 1_001]);
  },

  odds() {
    const bins = [{ from: 1, to: 10, packets: 80 }, { from: 11, to: 20, packets: 10 }, { from: 21, to: 30, packets: 9 }, { from: 31, to: 40, packets: 1 }];
    same("one in ten", oddsAbout(bins, 10), { above: 21, of: 10 });
    same("one in a hundred", oddsAbout(bins, 100), { above: 31, of: 100 });
    same("all alike", oddsAbout([{ from: 5, to: 5, packets: 7 }], 10), null);
    same("an empty bin at the end", oddsAbout([{ from: 1, to: 1, packets: 9 }, { from: 2, to: 2, packets: 1 }, { from: 3, to: 3, packets: 0 }], 10), { above: 2, of: 10 });
    const bounds = { smallest: 2, median: 8, largest: 38 };
    same("the least", percentile(bins, 0, bounds), 2);
    same("the most", percentile(bins, 1, bounds), 38);
    same("within a bin", percentile(bins, 0.4, bounds), 6);
    same("at a border", percentile(bins, 0.8, bounds), 10);
    same("below half it is not above the median", percentile(bins, 0.4, { ...bounds, median: 3 }), 3);
    same("nor above half below it", percentile(bins, 0.6, { ...bounds, median: 9 }), 9);
    const listed = exactBins([888, 99, 99, 8_888, 99, 888, 99, 99, 99, 99]);
    same("bins of a list", listed, [{ from: 99, to: 99, packets: 7 }, { from: 888, to: 888, packets: 2 }, { from: 8_888, to: 8_888, packets: 1 }]);
    same("a list's odds", oddsAbout(listed, 10), { above: 8_888, of: 10 });
    same("a list's percentiles", [0.1, 0.7, 0.9, 0.99].map((p) => percentile(listed, p, { smallest: 99, median: 99, largest: 8_888 })), [99, 99, 888, 8_888]);
    for (const [of, read] of [[1.2, 1], [9.6, 10], [19.4, 19], [72.1, 72], [187.3, 190], [98_765, 99_000]] as const) same(`round ${of}`, roundOdds(of), read);
  },

  shells() {
    for (const [text, word] of [["plain", "plain"], ["http://a:1/x", "http://a:1/x"], ["a b", "'a b'"], ["it's", `'it'\\''s'`], ["$(rm)", "'$(rm)'"], ["", "''"], ["?a=1&b=2", "'?a=1&b=2'"]] as const) same(`quote ${text}`, quote(text), word);
    same("a command", curl("https://h:8", { method: "POST", path: "/campaigns", once: true, body: { name: "Bob's $HOME `x`" } }), [
      "curl -sS -X POST", `-H "Authorization: Bearer $TOKEN"`, `-H "Idempotency-Key: $(date +%s)"`, "-H 'Content-Type: application/json'",
      `-d '{"name":"Bob'\\''s $HOME \`x\`"}'`, "https://h:8/api/v1/campaigns",
    ].join(" \\\n  "));
    const calls = groups(campaign).flatMap((g) => g.tasks);
    same("the campaign is in the commands", calls.filter((c) => c.call.path.includes("c1")).length, 9);
    same("without one too", groups(null).flatMap((g) => g.tasks).length, calls.length);
    const made = calls.find((c) => c.key === "create")?.call.body as Record<string, unknown>;
    same("a campaign like this one", [made.name, made.budget, made.split], [`${campaign.name} (2)`, 1_000_000, "gaussian"]);
  },

  async csv() {
    const file = new Memory();
    const counted: number[] = [];
    const head = "claim,user,packet,amount,at,state\n";
    const saved = await saveCSV(stream([head.slice(0, 7), head.slice(7) + "c1-1,u1,1,88,1,settled\nc1-", "2,张三,2,99,2,granted\n"]), file, new AbortController().signal, (s) => counted.push(s.rows));
    same("the file", file.text, head + "c1-1,u1,1,88,1,settled\nc1-2,张三,2,99,2,granted\n");
    same("what is told", [saved.rows, saved.bytes, counted, file.state], [2, new TextEncoder().encode(file.text).length, [0, 1, 2], "closed"]);

    const half = new Memory();
    let fault: unknown;
    await saveCSV(stream([head, "c1-1,u1"], new Error("cut")), half, new AbortController().signal, () => {}).catch((e: unknown) => (fault = e));
    same("a cut one is thrown away", [half.state, String(fault)], ["aborted", "Error: cut"]);

    const stop = new AbortController();
    const left = new Memory();
    await saveCSV(stream([head, "c1-1,u1,1,88,1,settled\n", "c1-2,u1,1,88,1,settled\n"]), left, stop.signal, (s) => s.rows === 1 && stop.abort(new Error("stopped"))).catch((e: unknown) => (fault = e));
    same("a stopped one too", [left.state, String(fault)], ["aborted", "Error: stopped"]);
    for (const [n, text] of [[0, "0 B"], [1_023, "1023 B"], [2_048, "2.0 KB"], [5 << 20, "5.0 MB"]] as const) same(`size ${n}`, size(n), text);
  },

  searches() {
    same("all claims", claimsPath("c1", { user: "", packet: "", state: "" }), "/campaigns/c1/claims");
    same("some", claimsPath("c/1", { user: "张 三&", packet: "7", state: "dead" }, "50"), "/campaigns/c%2F1/claims?user=%E5%BC%A0+%E4%B8%89%26&packet=7&state=dead&cursor=50");
    const record: AuditRecord = { at: 1, actor: "operator", role: "operator", action: "campaign.close", target: "campaign:c1", detail: { address: "::1", reclaimed: 500 }, request: "lb-7" };
    for (const [search, found] of [["close", true], ["CLOSE c1", true], ["reclaimed 500", true], ["lb-7", true], ["close c2", false]] as const) same(`find ${search}`, matches(record, search), found);
    same("places", ["campaign:c1", "sponsor:acme", "user:u1", "withdrawal:w1", "approval:a1", "payout:c1-7", "x", ":x", "campaign:"].map(placeOf), [["campaigns", "c1"], ["sponsors"], ["users", "u1"], ["withdrawals", "w1"], ["approvals"], null, null, null, null]);
  },

  withdrawals() {
    const w = (with_: Partial<WithdrawalRecord>) => acts({ withdrawal: "w1", user: "u1", amount: 1, state: "pending", created_at: 1, dead: false, attempts: 0, ...with_ } as WithdrawalRecord);
    same("asked for", w({ stage: "requested" }), ["hold"]);
    same("held", w({ stage: "held" }), ["release", "back"]);
    same("a letter", w({ stage: "sent", dead: true }), ["paid", "back"]);
    for (const stage of ["sent", "action_required", "paid", "refused", "returned"] as const) same(stage, w({ stage }), []);
    same("own orders", ["ann", " ANN", "bob", undefined].map((me) => samePerson("Ann", me)), [true, true, false, false]);
    same("actors", ["operator:ann", "player:u:1", "redrain"].map(actorName), ["ann", "u:1", "redrain"]);
  },

  texts() {
    const tables: Record<string, Table> = { apipage, approvals, audit, books, claims, counts, create, faults: faultTexts, payouts, people, withdrawals, sponsors };
    const holes = (text: string) => [...new Set([...text.matchAll(/\{(\w+)/g)].map((m) => m[1]))].sort();
    for (const [name, table] of Object.entries(tables)) {
      for (const [key, text] of Object.entries(table)) {
        if (!text.zh.trim() || !text.en.trim()) wrong.push(`${name}.${key} is missing in a language`);
        same(`${name}.${key}: what is filled in`, holes(text.zh), holes(text.en));
        if (/[\u4e00-\u9fff]/.test(text.en)) wrong.push(`${name}.${key}: Chinese in English`);
      }
    }
  },
};

/** run runs all tests and answers with what is wrong. */
export async function run(): Promise<{ ran: number; faults: string[] }> {
  for (const [name, test] of Object.entries(tests)) {
    const before = wrong.length;
    try {
      await test();
    } catch (fault) {
      wrong.push(String(fault instanceof Error ? fault.stack : fault));
    }
    for (let i = before; i < wrong.length; i++) wrong[i] = `${name}: ${wrong[i]}`;
  }
  return { ran: Object.keys(tests).length, faults: wrong };
}

/** judge tells for each draft, given as what differs from an empty one, which fields are at fault, or else what would be posted. */
export function judge(drafts: Partial<Draft>[]): { fields: string[]; body: unknown }[] {
  return drafts.map((d) => {
    const { faults, body } = check({ ...emptyDraft(), ...d });
    return { fields: Object.keys(faults).sort(), body };
  });
}
