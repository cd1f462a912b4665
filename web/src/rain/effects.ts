// The effects of a tap: it bursts at once into "pending", and turns into its outcome after the server's answer.
// Everything here is a function of its age; nothing is stepped, so a slow frame only shows fewer moments of it.

import type { Brush } from "./brush.ts";
import { Flight, type Spot } from "./flight.ts";
import { Labels } from "./labels.ts";
import { type Look, lookOf } from "./looks.ts";
import { Particles } from "./particles.ts";
import type { Prize } from "./prize.ts";
import type { Drop, Place, View } from "./sky.ts";
import type { Picture, Sprites } from "./sprites.ts";

const OPENS = 260; // ms in which the packet opens
const PRIZE_LASTS = 1_100; // ms for which a special packet shows its kind
const LASTS_WON = 1_900; // ms for which an outcome stays
const LASTS = 1_250;
const FADE = 260; // ms in which words fade
const JOLT = 280; // ms of the jolt of a bomb
const RING = 420; // ms of the ring around a win
const SHADOW = 14; // px around a plate that only its shadow needs

/** Item is the effect of one tap. */
interface Item {
  id: string;
  at: Place;
  decoy: boolean;
  tint: number;
  picture: Picture;
  born: number; // ms of the page's clock
  shownAt: number; // time of its outcome; 0 while it is pending
  ends: number; // time at which its words are gone
  won: boolean;
  prize: Prize;
  label: Picture | null;
}

/** Said is the display of an outcome. */
export interface Said {
  /** a key of LOOKS */
  look: string;
  line: string;
  /** a second line, smaller */
  small: string;
  prize?: Prize;
}

/** Effects holds the effects of the taps. Times are ms of the page's steady clock. */
export class Effects {
  readonly particles = new Particles();
  readonly flight = new Flight();
  #items: Item[] = [];
  #labels = new Labels(1);
  #ratio = 1;
  #jolted = -JOLT;

  /** busy reports whether there is anything to draw. */
  busy(now: number): boolean {
    return this.#items.length > 0 || this.particles.busy(now) || this.flight.busy(now) || now - this.#jolted < JOLT;
  }

  /** clear drops all effects, pending ones too: their results are counted elsewhere. */
  clear(): void {
    this.#items = [];
  }

  /** pending begins at the place of the hit drop, and lasts until the outcome comes. */
  pending(drop: Drop, at: Place, sprites: Sprites, now: number, still: boolean): void {
    this.#items.push({ id: drop.id, at: { ...at }, decoy: drop.decoy, tint: drop.tint, picture: sprites.of(drop), born: now, shownAt: 0, ends: 0, won: false, prize: "plain", label: null });
    if (!still) this.particles.burst("confetti", 8, at.x, at.y, now, 0.5);
  }

  /** outcome shows the server's answer; name is a key of LOOKS, small a second, smaller line, prize the content. */
  outcome(id: string, { look: name, line, small, prize = "plain" }: Said, sprites: Sprites, now: number, view: View, still: boolean): void {
    const item = this.#items.find((i) => i.id === id && !i.shownAt);
    if (!item) return;
    const look = lookOf(name);
    item.prize = prize;
    item.shownAt = now;
    item.won = name === "won";
    item.label = this.#label(look, line, small, item.won, sprites.ratio, view);
    item.ends = now + (item.won ? LASTS_WON : LASTS);
    // Equal words replace the previous ones, so that quick taps do not cover the screen with plates.
    for (const i of this.#items) if (i !== item && !i.won && i.label === item.label) i.ends = Math.min(i.ends, now + FADE);
    if (still || !look.stuff) return;
    this.particles.burst(look.stuff, item.won ? 30 : 14, item.at.x, item.at.y, now, item.won ? 1 : 0.5);
    if (item.won && view.purse) this.flight.send(item.at, view.purse, now);
    if (look.stuff === "fire") this.#jolted = now;
  }

  #label(look: Look, text: string, sub: string, won: boolean, ratio: number, view: View): Picture {
    if (ratio !== this.#ratio) {
      this.#labels = new Labels(ratio);
      this.#ratio = ratio;
    }
    const size = (won ? 23 : 16) * (view.width > 390 ? 1.15 : 1);
    return this.#labels.of(look, text, sub, size, view.width - 16);
  }

  /** jolt moves the brush while a bomb goes off. It is called before anything is drawn. */
  jolt(brush: Brush, now: number): void {
    const age = now - this.#jolted;
    const force = age < JOLT ? 7 * (1 - age / JOLT) : 0;
    brush.dx = force * Math.sin(age / 13);
    brush.dy = force * Math.cos(age / 17);
  }

  /** under draws the layer below the packets in the air, so that no word covers the next one; only wins are above. */
  under(brush: Brush, sprites: Sprites, now: number, view: View, still: boolean): void {
    let kept = 0;
    for (const i of this.#items) {
      if (!i.shownAt || now < i.ends) this.#items[kept++] = i;
    }
    this.#items.length = kept;
    for (const i of this.#items) if (!i.won) opening(brush, sprites, i, now, still);
    for (const i of this.#items) if (!i.won) words(brush, i, now, view, still);
    brush.c.globalAlpha = 1;
  }

  /** over draws the layer above all: the wins, which the game is about, before everything else. */
  over(brush: Brush, sprites: Sprites, now: number, view: View, still: boolean): void {
    for (const i of this.#items) if (i.won) opening(brush, sprites, i, now, still);
    this.particles.draw(brush, sprites, now);
    this.flight.draw(brush, sprites, now);
    for (const i of this.#items) if (i.won) words(brush, i, now, view, still);
    brush.c.globalAlpha = 1;
  }
}

/** opening draws a hit packet: its flap goes up, and a coin turns above it until the server has decided. */
function opening(brush: Brush, sprites: Sprites, i: Item, now: number, still: boolean): void {
  const { c } = brush;
  const { x, y } = i.at;
  const age = now - i.born;
  const prize = i.shownAt ? sprites.prize(i.prize) : null;
  if (prize) return precious(brush, prize, i, (now - i.shownAt) / PRIZE_LASTS, still);
  const gone = i.shownAt ? Math.min(1, (now - i.shownAt) / OPENS) : 0;
  if (gone >= 1) return;
  const pop = still ? 1 : 1 + 0.18 * Math.max(0, 1 - age / OPENS) * Math.sin((age / OPENS) * Math.PI);
  c.globalAlpha = 1 - gone;
  if (i.decoy) {
    brush.stamp(i.picture, x, y, i.at.angle, pop * (1 + gone * 0.5));
  } else {
    const open = sprites.open(i.tint);
    const size = (i.at.w / sprites.width) * pop;
    brush.stamp(age < OPENS / 3 ? i.picture : open, x, y, i.at.angle, age < OPENS / 3 ? pop : size);
    if (age > OPENS / 3) rising(brush, sprites, i, age, size, still);
  }
  if (!i.shownAt && age > OPENS) waiting(brush, x, y, i.at.w * 0.86, age);
  c.globalAlpha = 1;
}

function rising(brush: Brush, sprites: Sprites, i: Item, age: number, size: number, still: boolean): void {
  const up = still ? 1 : Math.min(1, (age - OPENS / 3) / OPENS);
  const turn = still ? 1 : Math.max(0.1, Math.abs(Math.cos(age / 170)));
  brush.stamp(sprites.coin, i.at.x, i.at.y - i.at.h * 0.34 * up, 0, 0.62 * size * turn, 0.62 * size);
}

// precious draws a packet's content on beams of light; p is the elapsed fraction of its time.
function precious(brush: Brush, picture: Picture, i: Item, p: number, still: boolean): void {
  if (p >= 1) return;
  const { c } = brush;
  const size = still ? 1.25 : 1.25 + 0.5 * Math.exp(-p * 14) * Math.cos(p * 26);
  c.globalAlpha = Math.min(1, (1 - p) * 4);
  brush.frame(i.at.x, i.at.y, still ? 0 : p, 1, 1);
  c.fillStyle = "rgb(255 226 140 / 0.28)";
  c.beginPath();
  for (let k = 0; k < BEAMS; k++) {
    const a = (k * 2 * Math.PI) / BEAMS;
    const r = i.at.w * 1.5;
    c.moveTo(0, 0);
    c.lineTo(r * Math.cos(a - 0.14), r * Math.sin(a - 0.14));
    c.lineTo(r * Math.cos(a + 0.14), r * Math.sin(a + 0.14));
  }
  c.fill();
  brush.stamp(picture, i.at.x, i.at.y, 0, size);
  c.globalAlpha = 1;
}

const BEAMS = 10;

// waiting draws the ring that turns until the server has decided.
function waiting(brush: Brush, x: number, y: number, r: number, age: number): void {
  const { c } = brush;
  brush.frame(x, y, age / 170, 1, 1);
  c.lineWidth = 4;
  c.lineCap = "round";
  c.strokeStyle = "rgb(60 4 20 / 0.45)";
  c.beginPath();
  c.arc(0, 0, r, 0, 6.2832);
  c.stroke();
  c.strokeStyle = "#ffd777";
  c.beginPath();
  c.arc(0, 0, r, 0, 1.7);
  c.stroke();
}

function words(brush: Brush, i: Item, now: number, view: View, still: boolean): void {
  if (!i.label || !i.shownAt) return;
  const age = now - i.shownAt;
  const pop = still ? 1 : 1 + 0.35 * Math.exp(-age / 70) * Math.cos(age / 40);
  const rise = still ? 0 : (i.won ? 46 : 26) * (1 - Math.exp(-age / 350));
  const at = inside(i.label, i.at.x, i.at.y - rise, pop, view);
  if (i.won && !still && age < RING) ring(brush, i.label, at, age / RING);
  brush.c.globalAlpha = Math.max(0, Math.min(1, (i.ends - now) / FADE));
  brush.stamp(i.label, at.x, at.y, 0, at.size);
}

/** inside returns the place of a plate of the given size that is nearest to (x, y) and on the screen, below the head. */
export function inside({ w, h }: { w: number; h: number }, x: number, y: number, size: number, view: View): { x: number; y: number; size: number } {
  const fit = Math.min(size, (view.width + 2 * SHADOW) / w);
  const [right, below] = [(w * fit) / 2 - SHADOW, (h * fit) / 2 - SHADOW];
  return { x: Math.min(Math.max(x, right), view.width - right), y: Math.max(Math.min(y, view.height - below), view.top + below), size: fit };
}

// ring is a ring of light that leaves a win's plate; p is the elapsed fraction of its time.
function ring(brush: Brush, { w }: Picture, { x, y }: Spot, p: number): void {
  const { c } = brush;
  brush.frame(x, y, 0, 1, 1);
  c.globalAlpha = 1 - p;
  c.lineWidth = 10 * (1 - p) + 1;
  c.strokeStyle = "#ffe28c";
  c.beginPath();
  c.arc(0, 0, w * (0.3 + 0.4 * p), 0, 6.2832);
  c.stroke();
}
