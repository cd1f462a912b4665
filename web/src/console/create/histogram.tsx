import { money } from "../format.ts";
import type { Bin } from "./odds.ts";
import { t } from "./words.ts";

/** Axis is what two histograms share, so that they can be compared. */
export interface Axis {
  /** Minor units. */
  from: number;
  to: number;
  /** The share of the packets in one minor unit, at the top. */
  top: number;
}

/** axisOf is the axis on which all of some histograms have room. */
export function axisOf(histograms: readonly (readonly Bin[])[]): Axis {
  const bins = histograms.flat();
  return {
    from: Math.min(...bins.map((b) => b.from)),
    to: Math.max(...bins.map((b) => b.to)),
    top: Math.max(...histograms.flatMap((h) => h.map((b) => density(b, packetsIn(h))))),
  };
}

const packetsIn = (histogram: readonly Bin[]) => histogram.reduce((n, b) => n + b.packets, 0);
// An area stands for a share: bins of two splits are of two widths.
const density = (b: Bin, packets: number) => b.packets / packets / (b.to - b.from + 1);

const WIDTH = 400;
const HEIGHT = 120;

/** Histogram draws how many packets hold how much. label says the same to those who cannot see it. */
export function Histogram({ bins, axis, label, kept = false }: { bins: readonly Bin[]; axis: Axis; label: string; kept?: boolean }) {
  const packets = packetsIn(bins);
  const scale = WIDTH / (axis.to - axis.from + 1);
  return (
    <figure class={`histogram ${kept ? "kept" : ""}`}>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {bins.map((b) => {
          // What there is is seen, however little: two units of 120.
          const height = b.packets === 0 ? 0 : Math.max(2, (HEIGHT * density(b, packets)) / axis.top);
          return (
            <rect key={b.from} x={(b.from - axis.from) * scale + 0.5} width={Math.max(1, (b.to - b.from + 1) * scale - 1)} y={HEIGHT - height} height={height}>
              <title>{t("bin", { from: money(b.from), to: money(b.to), packets: b.packets })}</title>
            </rect>
          );
        })}
      </svg>
      <figcaption aria-hidden="true"><span>{money(axis.from)}</span><span>{money(axis.to)}</span></figcaption>
    </figure>
  );
}
