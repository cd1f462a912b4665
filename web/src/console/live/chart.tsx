import "../../../third_party/uplot/dist/uPlot.min.css";

import uPlot from "uplot";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { lang } from "../i18n.ts";
import { clock } from "../format.ts";
import type { Key, Ring } from "./ring.ts";
import { seconds } from "./uselive.ts";

/** Line is one line of a chart. color is the name of a token: --c1 … --c4. */
export interface Line {
  key: Key;
  label: string;
  color: string;
  format: (n: number | null | undefined) => string;
  fill?: boolean;
  /** dashed: it may lie upon another. */
  dashed?: boolean;
}

/** Band is a span of time, in seconds as seconds() counts them. */
export interface Band {
  from: number;
  to: number;
}

export interface ChartProps {
  title: string;
  lines: readonly Line[];
  ring: Ring;
  /** span is how many seconds are shown, up to now; or from when to when. */
  span: number | Band;
  /** bands are times that are marked: those of rains. */
  bands?: readonly Band[];
  /** least is how high the chart is at least, in its own unit: noise does not fill it. */
  least: number;
  /** axis formats the numbers beside the chart, where they need another form than the first line's. */
  axis?: (n: number) => string;
  /** words is what the chart says to those who cannot see it. */
  words: string;
}

const HEIGHT = 150; // px
const MINUTES = 200; // seconds: from here on the times below a chart are without seconds, and closer together

/** Chart draws some columns of the ring. It moves with the time, also while nothing comes. */
export function Chart({ title, lines, ring, span, bands, least, axis, words }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const shown = useRef(span);
  shown.current = span;
  const marked = useRef(bands);
  marked.current = bands;
  const [at, setAt] = useState<number | null>(null); // index under the pointer
  const [dark, setDark] = useState(false);

  useLayoutEffect(() => {
    const el = place.current;
    if (!el) return;
    const u = (plot.current = new uPlot(options(el, lines, least, axis, setAt, () => marked.current ?? []), window_(ring, lines, shown.current), el));
    scale(u, shown.current);
    const resized = new ResizeObserver(() => el.clientWidth > 0 && u.setSize({ width: el.clientWidth, height: HEIGHT }));
    resized.observe(el);
    return () => {
      resized.disconnect();
      u.destroy();
      plot.current = null;
    };
  }, [ring, lang(), dark]);
  useEffect(() => {
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const changed = () => setDark(scheme.matches);
    changed();
    scheme.addEventListener("change", changed);
    return () => scheme.removeEventListener("change", changed);
  }, []);
  // The page is drawn anew with each row; the line moves by the second.
  useEffect(() => {
    const draw = () => {
      const u = plot.current;
      if (!u || document.hidden) return;
      u.setData(window_(ring, lines, shown.current), false);
      scale(u, shown.current);
    };
    draw();
    const timer = setInterval(draw, 1_000);
    return () => clearInterval(timer);
  }, [ring, ...Object.values(during(span, 0)), lang(), dark]);

  const data = plot.current?.data;
  const value = (i: number, key: Key) => (at === null ? ring.last(key) : data?.[i + 1]?.[at]);
  return (
    <figure class="chart">
      <figcaption>
        <span class="title">{title}</span>
        <span class="legend">
          {lines.map((line, i) => (
            <span key={line.key} class="key">{lines.length > 1 && <><i class={`keyline ${line.color.slice(2)}`} />{line.label} </>}<b>{line.format(value(i, line.key))}</b></span>
          ))}
          {at !== null && data && <span class="soft at">{clock((data[0][at] ?? 0) * 1_000)}</span>}
        </span>
      </figcaption>
      <div class="plot" ref={place} role="img" aria-label={words} />
    </figure>
  );
}

/** during is from when to when a chart shows, at a time. */
function during(span: number | Band, now: number): Band {
  return typeof span === "number" ? { from: now - span, to: now } : span;
}

function window_(ring: Ring, lines: readonly Line[], span: number | Band): uPlot.AlignedData {
  return ring.since(during(span, seconds()).from, lines.map((l) => l.key));
}

function scale(u: uPlot, span: number | Band): void {
  const { from, to } = during(span, seconds());
  u.setScale("x", { min: from, max: to });
}

/** mark draws the bands below the lines. */
function mark(u: uPlot, bands: readonly Band[], color: string): void {
  const { left, top, width, height } = u.bbox;
  u.ctx.save();
  u.ctx.fillStyle = color;
  for (const band of bands) {
    const from = Math.max(u.valToPos(band.from, "x", true), left);
    const to = Math.min(u.valToPos(band.to, "x", true), left + width);
    if (to > from) u.ctx.fillRect(from, top, to - from, height);
  }
  u.ctx.restore();
}

function options(
  el: HTMLElement, lines: readonly Line[], least: number, axis: ((n: number) => string) | undefined, setAt: (index: number | null) => void,
  bands: () => readonly Band[],
): uPlot.Options {
  const style = getComputedStyle(el);
  const token = (name: string) => style.getPropertyValue(name).trim();
  const [soft, line] = [token("--soft"), token("--line")];
  const font = `11px ${style.fontFamily}`;
  const format = axis ?? lines[0]?.format ?? String;
  const range: uPlot.Range.Function = (_, min, max) => (min == null || max == null ? [0, least] : [0, Math.max(max * 1.08, least)]);
  return {
    width: el.clientWidth || 300, height: HEIGHT, legend: { show: false }, padding: [8, 12, 0, 0],
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
    scales: { x: { time: true, auto: false }, y: { range } },
    axes: [
      {
        stroke: soft, font, size: 26, gap: 4, grid: { show: false }, ticks: { show: false }, space: (_u, _i, min, max) => (max - min > MINUTES ? 44 : 62),
        values: (_, splits) => splits.map((s) => clock(s * 1_000).slice(0, (splits[1] ?? s) - (splits[0] ?? s) < 60 ? 8 : 5)),
      },
      {
        stroke: soft, font, size: 58, gap: 4, space: 32, grid: { stroke: line, width: 1 }, ticks: { show: false },
        values: (_, splits) => splits.map((n) => (n == null ? "" : n === 0 ? "0" : format(n))),
      },
    ],
    series: [
      {},
      ...lines.map((l) => ({
        stroke: token(l.color), width: 1.75, points: { show: false }, ...(l.dashed ? { dash: [5, 4] } : {}),
        // A canvas knows no color-mix() in older browsers; the tokens are #rrggbb.
        ...(l.fill ? { fill: `${token(l.color)}24` } : {}),
      })),
    ],
    hooks: { setCursor: [(u) => setAt(u.cursor.idx ?? null)], drawClear: [(u) => mark(u, bands(), token("--hover"))] },
  };
}
