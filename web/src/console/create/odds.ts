// The meaning of a split for a player, from its summary.

/** Bin is the number of packets with from … to minor units, both included. */
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
 * oddsAbout returns the odds at a border of the histogram, so they are exact. It chooses the border whose odds are
 * nearest to one in `of`. It is null without a border (all packets are alike).
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
 * percentile estimates the amount, in minor units, that a share (0…1) of the packets do not exceed. It assumes that
 * packets are spread evenly in a bin, and stays within the known amounts.
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

/** exactBins are the bins of a list of amounts, one for each different amount, so that results are exact. */
export function exactBins(amounts: readonly number[]): Bin[] {
  const counts = new Map<number, number>();
  for (const a of amounts) counts.set(a, (counts.get(a) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => a - b).map(([amount, packets]) => ({ from: amount, to: amount, packets }));
}

/** roundOdds rounds 9.6 to 10 and 187.3 to 190: a number to be read, not computed with. */
export function roundOdds(of: number): number {
  if (of < 20) return Math.max(1, Math.round(of));
  const step = 10 ** Math.floor(Math.log10(of) - 1);
  return Math.round(of / step) * step;
}
