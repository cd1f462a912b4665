// What is in the air, and where: pure functions of (drop, server time), so that a late joiner, a returning
// tab and any screen rate show the same.

const RATIO = 1.28; // height of a packet to its width
const SLOP = 6; // px around a packet that still count as on it
const MIN_TARGET = 48; // px

// packed is a wave of the client's in the form of the wire, which Sky takes.
export function packed(wave) {
  return { ...wave, drops: wave.drops.map((d) => [Number(d.id.split(".")[1]), d.x, d.kind === "decoy" ? 1 : 0, d.fall_ms]) };
}

// Sky keeps the drops of the rain that falls.
export class Sky {
  rain = null;
  drops = []; // in the order in which they appear: later ones lie on top
  #seen = new Set();

  // add takes a wave message. A wave that is here already (sent again after a reconnect) keeps what was
  // tapped of it.
  add(wave) {
    if (wave.rain !== this.rain) this.clear(wave.rain);
    if (this.#seen.has(wave.n)) return;
    this.#seen.add(wave.n);
    const late = this.drops.length > 0 && this.drops.at(-1).n > wave.n;
    for (const [k, x, kind, fall] of wave.drops) this.drops.push(makeDrop(wave, k, x, kind, fall));
    if (late) this.drops.sort((a, b) => a.n - b.n || a.k - b.k);
  }

  clear(rain = null) {
    this.rain = rain;
    this.drops = [];
    this.#seen.clear();
  }

  // prune forgets what has landed.
  prune(t) {
    if (this.drops.some((d) => t > d.at + d.fall)) this.drops = this.drops.filter((d) => t <= d.at + d.fall);
  }
}

function makeDrop(wave, k, x, kind, fall) {
  // A few bits of a hash of the drop's id, for looks only: the same on every screen.
  let h = Math.imul(wave.n + 1, 0x9e3779b1) ^ Math.imul(k + 1, 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  h ^= h >>> 12;
  const bits = (shift, n) => ((h >>> shift) & ((1 << n) - 1)) / (1 << n);
  return {
    id: `${wave.n}.${k}`, n: wave.n, k, at: wave.at, x, decoy: kind === 1, fall,
    scale: 0.88 + 0.3 * bits(0, 6), phase: bits(6, 8) * 2 * Math.PI, swing: 2 + 4 * bits(14, 5), tint: bits(19, 1) * 2,
    tapped: false,
  };
}

// unit is the width of a packet of scale 1 on a screen, in px.
export function unit(view) {
  return Math.min(104, Math.max(58, Math.min(view.width, view.height) * 0.172));
}

// place is where a drop is at a time: its middle, width, height and angle; null when it is not in the air. still
// leaves out sway and turning, for those who want less motion; the fall itself is the game.
export function place(drop, t, view, still = false) {
  const p = (t - drop.at) / drop.fall;
  if (!(p >= 0 && p <= 1)) return null;
  const w = unit(view) * drop.scale;
  const h = w * RATIO;
  const edge = w * 0.66;
  const sway = still ? 0 : Math.sin(drop.phase + p * drop.swing) * w * 0.16;
  return {
    x: edge + ((view.width - 2 * edge) * drop.x) / 1000 + sway,
    y: -h + (view.height + 2 * h) * p * (0.82 + 0.18 * p),
    w,
    h,
    angle: still ? 0 : Math.sin(drop.phase * 1.7 + p * drop.swing * 1.6) * 0.24,
  };
}

// topmost finds the drop under a finger, with its place: the one drawn last, in its own turned frame.
export function topmost(drops, t, view, px, py, still = false) {
  for (let i = drops.length - 1; i >= 0; i--) {
    const d = drops[i];
    if (d.tapped) continue;
    const at = place(d, t, view, still);
    if (at && within(at, px, py)) return { drop: d, at };
  }
  return null;
}

function within(at, px, py) {
  const [dx, dy] = [px - at.x, py - at.y];
  const [cos, sin] = [Math.cos(-at.angle), Math.sin(-at.angle)];
  const halfW = Math.max(at.w / 2 + SLOP, MIN_TARGET / 2);
  const halfH = Math.max(at.h / 2 + SLOP, MIN_TARGET / 2);
  return Math.abs(dx * cos - dy * sin) <= halfW && Math.abs(dx * sin + dy * cos) <= halfH;
}
