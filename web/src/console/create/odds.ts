// What a split means for a player, out of its summary.

/** Bin is how many packets hold from … to, both included, in minor units. */
export interface Bin {
  from: number;
  to: number;
  packets: number;
}

/** Odds say that one of `of` packets holds `above` minor units or more. */
export interface Odds {
  above: number;
  of: number;
}

/**
 * oddsAbout is the odds at the histogram's border behind which the share of the packets is nearest to one of `of`; null where there is no
 * border (all packets are alike). It is exact, as borders are.
 */
export function oddsAbout(histogram: readonly Bin[], of: number): Odds | null {
  const total = histogram.reduce((n, b) => n + b.packets, 0);
  let behind = 0;
  let best: Odds | null = null;
  for (let i = histogram.length - 1; i > 0; i--) {
    const bin = histogram[i];
    if (!bin) continue;
    behind += bin.packets;
    if (behind === 0) continue;
    const odds = { above: bin.from, of: total / behind };
    // Compared as ratios: one in 5 is as far from one in 10 as one in 20 is.
    if (!best || Math.abs(Math.log(odds.of / of)) < Math.abs(Math.log(best.of / of))) best = odds;
  }
  return best;
}

/**
 * percentile estimates the amount, in minor units, that a share (0…1) of the packets do not exceed: between the borders of a bin the packets
 * are taken to lie evenly. It contradicts nothing that is known for sure.
 */
export function percentile(histogram: readonly Bin[], share: number, known: { smallest: number; median: number; largest: number }): number {
  const [least, most] = share < 0.5 ? [known.smallest, known.median] : [known.median, known.largest];
  const total = histogram.reduce((n, b) => n + b.packets, 0);
  let below = 0;
  for (const bin of histogram) {
    if (bin.packets > 0 && below + bin.packets >= share * total) {
      const inside = (share * total - below) / bin.packets;
      const value = Math.round(bin.from + inside * (bin.to - bin.from));
      return Math.min(most, Math.max(least, value));
    }
    below += bin.packets;
  }
  return known.largest;
}

/** exactBins are the bins of a list of amounts, one for each amount that is in it: what is read off them is exact. */
export function exactBins(amounts: readonly number[]): Bin[] {
  const counts = new Map<number, number>();
  for (const a of amounts) counts.set(a, (counts.get(a) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => a - b).map(([amount, packets]) => ({ from: amount, to: amount, packets }));
}

/** roundOdds makes of 9.6 a 10 and of 187.3 a 190: a number to be read, not computed with. */
export function roundOdds(of: number): number {
  if (of < 20) return Math.max(1, Math.round(of));
  const step = 10 ** Math.floor(Math.log10(of) - 1);
  return Math.round(of / step) * step;
}
