// The drops in the air and their positions: pure functions of (drop, server time), so that a late joiner, a returning
// tab and any screen rate show the same.

const SLOP = 6; // px around a packet that still count as a hit
const MIN_TARGET = 48; // px
const LAYERS = [0.8, 0.96, 1.14] as const; // sizes of the three depths, the far one first

/** RATIO is a packet's height divided by its width. */
export const RATIO = 1.28;

/** TINTS is the number of colours that a packet may have. A colour does not depend on the content. */
export const TINTS = 3;

/** View is a canvas in CSS pixels. top is the part that the head of the page covers; won coins fly to purse. */
export interface View {
  width: number;
  height: number;
  top: number;
  purse?: { x: number; y: number };
}

/** Wave has the used fields of the client's wave message: `at` Unix ms of the server, x 0…1000, an id is "n.k". */
export interface Wave {
  rain: string;
  n: number;
  at: number;
  drops: readonly { id: string; x: number; kind: "packet" | "decoy"; fall_ms: number }[];
}

/** Drop is one packet or decoy. All but `tapped` follows from the wave, and is the same on every screen. */
export interface Drop {
  readonly id: string;
  readonly n: number;
  readonly k: number;
  /** time at the top, Unix ms of the server */
  readonly at: number;
  /** 0…1000 across the screen */
  readonly x: number;
  readonly decoy: boolean;
  /** ms from the top to the bottom */
  readonly fall: number;
  /** 0 far … 2 near */
  readonly depth: number;
  readonly scale: number;
  readonly phase: number;
  readonly swing: number;
  readonly tint: number;
  /** it has burst: it is not drawn and cannot be hit */
  tapped: boolean;
}

/** Place is a drop's middle, size (px) and angle (radians). */
export interface Place {
  x: number;
  y: number;
  w: number;
  h: number;
  angle: number;
}

/** Hit is a drop under a finger, with its place. */
export interface Hit {
  drop: Drop;
  at: Place;
}

/** Sky keeps the drops of the falling rain. */
export class Sky {
  rain: string | null = null;
  /** in drawing order: the far ones first, and at one depth the later ones on top */
  drops: Drop[] = [];
  readonly #seen = new Set<number>();

  /** add takes a wave message. If the wave is here already (sent again after a reconnect), its taps are kept. */
  add(wave: Wave): void {
    if (wave.rain !== this.rain) this.clear(wave.rain);
    if (this.#seen.has(wave.n)) return;
    this.#seen.add(wave.n);
    for (const d of wave.drops) this.drops.push(makeDrop(wave, d));
    this.drops.sort((a, b) => a.depth - b.depth || a.n - b.n || a.k - b.k);
  }

  clear(rain: string | null = null): void {
    this.rain = rain;
    this.drops = [];
    this.#seen.clear();
  }

  /** prune drops landed drops. It is called in each frame, and usually has nothing to do. */
  prune(t: number): void {
    let kept = 0;
    for (const d of this.drops) if (t <= d.at + d.fall) this.drops[kept++] = d;
    this.drops.length = kept;
  }
}

function makeDrop(wave: Wave, { id, x, kind, fall_ms }: Wave["drops"][number]): Drop {
  const k = Number(id.slice(id.indexOf(".") + 1));
  // A few bits of a hash of the drop's id, for looks only: the same on every screen.
  let h = Math.imul(wave.n + 1, 0x9e3779b1) ^ Math.imul(k + 1, 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  h ^= h >>> 12;
  const bits = (shift: number, n: number): number => ((h >>> shift) & ((1 << n) - 1)) / (1 << n);
  const depth = Math.floor(3 * bits(0, 6));
  return {
    id, n: wave.n, k, at: wave.at, x, decoy: kind === "decoy", fall: fall_ms,
    depth, scale: layerScale(depth), phase: bits(6, 8) * 2 * Math.PI, swing: 2 + 4 * bits(14, 5), tint: Math.floor(TINTS * bits(19, 6)),
    tapped: false,
  };
}

/** layerScale is the size of a packet at a depth, relative to one at the middle depth. */
export function layerScale(depth: number): number {
  return LAYERS[depth] ?? 1;
}

/**
 * unit is the width of a packet of scale 1 on a screen, in px: large enough for a thumb on a phone, not huge on a
 * desktop.
 */
export function unit(view: View): number {
  return Math.min(104, Math.max(58, Math.min(view.width, view.height) * 0.172));
}

/**
 * place returns the position of a drop at a time, or null if it is not in the air. still leaves out sway and turning,
 * for players who want less motion; the fall itself is the game. The answer is written to `out`, so that a frame makes
 * no garbage.
 */
export function place(drop: Drop, t: number, view: View, still = false, out: Place = { x: 0, y: 0, w: 0, h: 0, angle: 0 }): Place | null {
  const p = (t - drop.at) / drop.fall;
  if (!(p >= 0 && p <= 1)) return null;
  const w = unit(view) * drop.scale;
  const h = w * RATIO;
  const edge = w * 0.66;
  const sway = still ? 0 : Math.sin(drop.phase + p * drop.swing) * w * 0.16;
  out.x = edge + ((view.width - 2 * edge) * drop.x) / 1000 + sway;
  out.y = -h + (view.height + 2 * h) * p * (0.82 + 0.18 * p);
  out.w = w;
  out.h = h;
  out.angle = still ? 0 : Math.sin(drop.phase * 1.7 + p * drop.swing * 1.6) * 0.24;
  return out;
}

/** topmost finds the drop under a finger: the one drawn last, in its own turned frame. */
export function topmost(drops: readonly Drop[], t: number, view: View, px: number, py: number, still = false): Hit | null {
  for (let i = drops.length - 1; i >= 0; i--) {
    const drop = drops[i];
    if (!drop || drop.tapped) continue;
    const at = place(drop, t, view, still);
    if (at && within(at, px, py)) return { drop, at };
  }
  return null;
}

function within(at: Place, px: number, py: number): boolean {
  const [dx, dy] = [px - at.x, py - at.y];
  const [cos, sin] = [Math.cos(-at.angle), Math.sin(-at.angle)];
  const halfW = Math.max(at.w / 2 + SLOP, MIN_TARGET / 2);
  const halfH = Math.max(at.h / 2 + SLOP, MIN_TARGET / 2);
  return Math.abs(dx * cos - dy * sin) <= halfW && Math.abs(dx * sin + dy * cos) <= halfH;
}
