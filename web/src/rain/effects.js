// What follows a tap: it bursts at once into "pending", and turns into its outcome when the server has said it.
// Everything here is a function of its age; nothing is stepped, so a slow frame only shows fewer moments of it.

import { stamp } from "./sprites.js";

const PATIENCE = 10_000; // ms after which an unanswered tap is no longer shown; its result still counts when it comes
const POP = 260; // ms in which the packet bursts
const LABEL = { won: 1_900, other: 1_250 }; // ms for which an outcome stays
const CONFETTI = ["#ffe9a6", "#ffc94d", "#ff8b4a", "#ff5a4d", "#fff6dc"];
const DUST = ["#8d93a6", "#6d7388", "#a9aebd"];

// LOOKS are the outcomes': ink is the words' colour, plate what they stand on, sign the little picture before them.
export const LOOKS = {
  won: { ink: "#7a1410", plate: ["#fff3c4", "#f6c453"], burst: CONFETTI },
  already: { ink: "#eafff4", plate: ["#1c8f6b", "#0f6a4f"], sign: "tick" },
  sold_out: { ink: "#ffffff", plate: ["#5b6070", "#3a3e4b"], sign: "bar" },
  empty: { ink: "#3d4254", plate: ["#eef0f6", "#cfd4e2"], sign: "ring", burst: DUST },
  decoy: { ink: "#ffe2b0", plate: ["#2b3146", "#151a2a"], sign: "spark", burst: DUST },
  late: { ink: "#f3ecff", plate: ["#6a4bb0", "#4a2f8c"], sign: "clock" },
  limited: { ink: "#fff4e0", plate: ["#b3661b", "#87440c"], sign: "bar" },
  not_open: { ink: "#e6f3ff", plate: ["#2f6fb2", "#1d4d85"], sign: "clock" },
  too_fast: { ink: "#42260a", plate: ["#ffd166", "#f4a934"], sign: "spark" },
  unavailable: { ink: "#ffffff", plate: ["#c2414d", "#8f2530"], sign: "again" },
  unknown_drop: { ink: "#dfe7ff", plate: ["#43547d", "#2c3a5e"], sign: "ring" },
  other: { ink: "#ffffff", plate: ["#5b6070", "#3a3e4b"], sign: "ring" },
};

// Effects holds what is shown of the taps.
export class Effects {
  #items = []; // {id, at, born, look, text, sub, settledAt, bits}

  get size() {
    return this.#items.length;
  }

  // pending begins at the place where a drop was hit. picture is the drop's.
  pending(id, at, picture, now, still) {
    this.#items.push({ id, at, picture, born: now, shownAt: 0, bits: still ? [] : burst(CONFETTI, 9, 0.5) });
  }

  // outcome shows what the server has said. name is a key of LOOKS; sub is a second, smaller line.
  outcome(id, name, text, sub, now, still) {
    const item = this.#items.find((i) => i.id === id && !i.shownAt);
    if (!item) return;
    const look = LOOKS[name] ?? LOOKS.other;
    const bits = still || !look.burst ? [] : burst(look.burst, name === "won" ? 34 : 12, name === "won" ? 1 : 0.45);
    Object.assign(item, { look, text, sub, shownAt: now, lasts: LABEL[name] ?? LABEL.other, won: name === "won", outcomeBits: bits });
  }

  draw(c, sprites, now, view, still) {
    this.#items = this.#items.filter((i) => (i.shownAt ? now - i.shownAt < i.lasts : now - i.born < PATIENCE));
    const wins = this.#items.filter((i) => i.won);
    for (const i of [...this.#items.filter((i) => !i.won), ...wins]) {
      const age = now - i.born;
      if (age < POP) stamp(c, i.picture, i.at, 1 - age / POP, still ? 1 : 1 + (0.45 * age) / POP);
      drawBits(c, i.bits, i.at, age, sprites.width);
      if (i.shownAt) this.#label(c, i, now - i.shownAt, view, still, sprites);
      else if (age > POP / 2) waiting(c, i.at, age, sprites, still);
    }
  }

  #label(c, i, age, view, still, sprites) {
    drawBits(c, i.outcomeBits, i.at, age, sprites.width);
    const left = i.lasts - age;
    const pop = still ? 1 : 1 + 0.35 * Math.exp(-age / 70) * Math.cos(age / 40);
    const rise = still ? 0 : (i.won ? 46 : 26) * (1 - Math.exp(-age / 350));
    const size = (i.won ? 25 : 17) * Math.min(1.35, view.width / 390 > 1 ? 1.15 : 1);
    c.save();
    c.globalAlpha = Math.min(1, left / 260);
    c.font = `800 ${size}px system-ui, -apple-system, "PingFang SC", "Noto Sans CJK SC", sans-serif`;
    const sign = i.look.sign ? size * 1.25 : 0;
    const wide = Math.max(c.measureText(i.text).width + sign, i.sub ? measureSub(c, i.sub, size) : 0) + size * 1.5;
    const high = size * (i.sub ? 2.75 : 1.95);
    const x = Math.min(Math.max(i.at.x, wide / 2 + 8), view.width - wide / 2 - 8);
    const y = Math.min(Math.max(i.at.y - rise, view.top + high / 2 + 8), view.height - high / 2 - 8);
    c.translate(x, y);
    c.scale(pop, pop);
    plate(c, wide, high, i.look.plate);
    c.fillStyle = i.look.ink;
    c.textAlign = "center";
    c.textBaseline = "middle";
    const line = i.sub ? -size * 0.42 : size * 0.04;
    c.fillText(i.text, sign / 2, line);
    if (sign) drawSign(c, i.look.sign, sign / 2 - c.measureText(i.text).width / 2 - size * 0.78, line, size * 0.44, i.look.ink);
    if (i.sub) {
      c.font = c.font.replace(/^800 [\d.]+/, `600 ${size * 0.56}`);
      c.fillText(i.sub, 0, size * 0.66);
    }
    c.restore();
  }
}

function measureSub(c, text, size) {
  const font = c.font;
  c.font = font.replace(/^800 [\d.]+/, `600 ${size * 0.56}`);
  const { width } = c.measureText(text);
  c.font = font;
  return width;
}

function plate(c, w, h, colors) {
  const g = c.createLinearGradient(0, -h / 2, 0, h / 2);
  g.addColorStop(0, colors[0]);
  g.addColorStop(1, colors[1]);
  c.save();
  c.shadowColor = "rgb(30 0 10 / 0.55)";
  c.shadowBlur = 16;
  c.shadowOffsetY = 5;
  c.fillStyle = g;
  c.beginPath();
  c.roundRect(-w / 2, -h / 2, w, h, Math.min(h / 2, 24));
  c.fill();
  c.restore();
  c.strokeStyle = "rgb(255 255 255 / 0.4)";
  c.lineWidth = 1.25;
  c.stroke();
}

// waiting is the coin that turns until the server has decided.
function waiting(c, at, age, sprites, still) {
  const r = sprites.width * 0.34;
  const turn = still ? 1 : Math.abs(Math.cos(age / 150));
  c.save();
  c.translate(at.x, at.y);
  c.strokeStyle = "rgb(255 226 150 / 0.35)";
  c.lineWidth = 4;
  c.beginPath();
  c.arc(0, 0, r * 1.35, 0, 2 * Math.PI);
  c.stroke();
  c.strokeStyle = "#ffd777";
  c.lineCap = "round";
  c.beginPath();
  const a = age / 170;
  c.arc(0, 0, r * 1.35, a, a + 1.7);
  c.stroke();
  c.scale(Math.max(0.08, turn), 1);
  const [w, h] = [r * 2 * 1.5, r * 2 * 1.5 * 1.28];
  c.drawImage(sprites.coin, -w / 2, -h / 2, w, h);
  c.restore();
}

// burst throws n bits; they are laid out by chance, which is all that chance decides on this page.
function burst(colors, n, force) {
  return Array.from({ length: n }, (_, i) => {
    const a = Math.random() * 2 * Math.PI;
    const v = (0.12 + Math.random() * 0.3) * force;
    return {
      vx: Math.cos(a) * v, vy: Math.sin(a) * v - 0.16 * force, color: colors[i % colors.length],
      size: 0.05 + Math.random() * 0.07, spin: (Math.random() - 0.5) * 0.02, life: 500 + Math.random() * 700,
    };
  });
}

function drawBits(c, bits, at, age, width) {
  for (const b of bits) {
    if (age > b.life) continue;
    c.save();
    c.globalAlpha = 1 - age / b.life;
    c.translate(at.x + b.vx * age * (width / 66), at.y + (b.vy * age + 0.00042 * age * age) * (width / 66));
    c.rotate(b.spin * age);
    c.fillStyle = b.color;
    const s = b.size * width;
    c.fillRect(-s, -s * 0.6, 2 * s, 1.2 * s);
    c.restore();
  }
}

function drawSign(c, sign, x, y, r, ink) {
  c.save();
  c.translate(x, y);
  c.strokeStyle = ink;
  c.lineWidth = r * 0.36;
  c.lineCap = c.lineJoin = "round";
  c.beginPath();
  SIGNS[sign](c, r);
  c.stroke();
  c.restore();
}

const path = (c, ...points) => points.forEach(([x, y], i) => (i ? c.lineTo(x, y) : c.moveTo(x, y)));
const SIGNS = {
  tick: (c, r) => path(c, [-r, 0], [-r * 0.25, r * 0.75], [r, -r * 0.75]),
  bar: (c, r) => (c.arc(0, 0, r, 0, 7), path(c, [-r * 0.7, r * 0.7], [r * 0.7, -r * 0.7])),
  ring: (c, r) => c.arc(0, 0, r * 0.9, 0, 7),
  clock: (c, r) => (c.arc(0, 0, r, 0, 7), path(c, [0, -r * 0.55], [0, 0], [r * 0.45, r * 0.25])),
  spark: (c, r) => [0, 1, 2, 3].forEach((i) => {
    const [x, y] = [Math.cos((i * Math.PI) / 4) * r, Math.sin((i * Math.PI) / 4) * r];
    path(c, [-x, -y], [x, y]);
  }),
  again: (c, r) => (c.arc(0, 0, r * 0.9, 0.6, 5.6), path(c, [r * 1.15, -r * 1.05], [r * 0.75, -r * 0.5], [r * 0.1, -r * 0.65])),
};
