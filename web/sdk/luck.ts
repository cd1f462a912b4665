// A player's luck in a rain, computed from its seed once that is revealed. As package rain of the server has it.

import type { Fairness, LuckOf, OwnClaim } from "./redrain.d.ts";
import { sha256 } from "./sha256.ts";

const BILLION = 1_000_000_000n;
const START = 0.1; // the odds of an "auto" rain before its first record
const WAVE = 250; // ms from one wave to the next
const GUEST = /^guest-[0-9a-f]{20}$/; // the id of a guest
const LATE = 10_000; // ms for which a node may go by odds that have ended

const utf8 = new TextEncoder();

/** luck is the draw of a player in a beat: 64 bits. */
export function luck(seed: string, user: string, beat: number): bigint {
  const head = utf8.encode("redrain luck v1\0");
  const id = utf8.encode(user);
  const text = new Uint8Array(head.length + 40 + id.length);
  text.set(head);
  for (let i = 0; i < 32; i++) text[head.length + i] = parseInt(seed.slice(2 * i, 2 * i + 2), 16);
  // In two halves: Safari 14 has no 64-bit ones.
  const number = new DataView(text.buffer, head.length + 32, 8);
  number.setUint32(0, Math.floor(beat / 2 ** 32));
  number.setUint32(4, beat % 2 ** 32);
  text.set(id, head.length + 40);
  const hash = new DataView(sha256(text).buffer);
  return (BigInt(hash.getUint32(0)) << 32n) | BigInt(hash.getUint32(4));
}

/** wins reports whether a draw wins at odds, which are given in billionths. */
export function wins(draw: bigint, odds: number): boolean {
  const parts = BigInt(Math.round(odds * 1e9));
  return parts >= BILLION || draw < (parts << 64n) / BILLION;
}

/**
 * checkLuck computes every beat of a player from the revealed seed, and finds the claims that it did not grant.
 * `honest` is false if there is one, or if the seed is not the announced one. Null before the seed is revealed, and for
 * rains without draws.
 */
export function checkLuck(fairness: Fairness, user: string, claims: readonly OwnClaim[], commitment = fairness.commitment): LuckOf | null {
  const { seed, schedule: s } = fairness;
  if (!seed || s.odds === 1) return null;
  const bytes = Uint8Array.from({ length: 32 }, (_, i) => parseInt(seed.slice(2 * i, 2 * i + 2), 16));
  const announced = [...sha256(bytes)].map((b) => b.toString(16).padStart(2, "0")).join("");
  // Guests have odds of their own where they have a part of the packets for themselves.
  const records = (GUEST.test(user) && s.guests_odds_record) || s.odds_record || [];
  const odds = (beat: number): number => {
    if (s.odds !== "auto") return s.odds;
    return [...records].reverse().find((r) => r.beat <= beat)?.odds ?? START;
  };
  const first = (beat: number): number => s.first_wave + Math.ceil((beat * s.beat_ms) / WAVE);
  const late = Math.ceil(LATE / s.beat_ms);
  // A node without the newer odds may have used the earlier ones; its reported wins are paid.
  const best = (beat: number): number => {
    if (s.odds !== "auto") return s.odds;
    const since = beat - late;
    const ended = records.filter((r, i) => r.beat <= beat && (records[i + 1]?.beat ?? Infinity) > since).map((r) => r.odds);
    return Math.max(odds(beat), ...ended, records.some((r) => r.beat <= since) ? 0 : START);
  };
  const own = new Map(claims.filter((c) => c.claim.startsWith(`${s.campaign}-`)).map((c) => [c.ticket, c.claim]));
  const result: LuckOf = { beats: [], lucky: 0, ungranted: [], honest: announced === commitment };
  const count = Math.floor(((s.waves - 1) * WAVE) / s.beat_ms) + 1;
  for (let beat = 0; beat < count; beat++) {
    const draw = luck(seed, user, beat);
    const lucky = wins(draw, odds(beat));
    const claim = own.get(`b${first(beat)}`);
    if (lucky) result.lucky++;
    if (claim && !wins(draw, best(beat))) result.ungranted.push(claim);
    result.beats.push({ beat, at: s.starts_at + beat * s.beat_ms, odds: odds(beat), lucky, ...(claim ? { claim } : {}) });
  }
  if (result.ungranted.length > 0) result.honest = false;
  return result;
}
