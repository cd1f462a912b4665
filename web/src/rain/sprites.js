// The pictures that fall, painted once per size and then only copied.

const GOLD = ["#fff0b8", "#f7c95c", "#d9942b"];
const TINTS = [
  { body: ["#ff6a55", "#e2252b", "#b80f22"], flap: ["#ff8069", "#d81e2a"] },
  { body: ["#ff7c4d", "#e63a1f", "#bd1d16"], flap: ["#ff9a63", "#db3620"] },
];

// Sprites paints for one width (px) and one pixel ratio.
export class Sprites {
  constructor(width, ratio) {
    this.width = width;
    this.ratio = ratio;
    this.packets = TINTS.map((tint) => this.#paint((c, w, h) => envelope(c, w, h, tint)));
    this.decoy = this.#paint(bomb);
    this.coin = this.#paint((c, w, h) => coin(c, w / 2, h / 2, w * 0.42));
  }

  // of is the picture of a drop.
  of(drop) {
    return drop.decoy ? this.decoy : this.packets[drop.tint];
  }

  // The canvas is half as large again as the picture, for its shadow.
  #paint(draw) {
    const [w, h] = [this.width, this.width * 1.28];
    const canvas = document.createElement("canvas");
    canvas.width = Math.ceil(w * 1.5 * this.ratio);
    canvas.height = Math.ceil(h * 1.5 * this.ratio);
    const c = canvas.getContext("2d");
    c.scale(this.ratio, this.ratio);
    c.translate(w * 0.25, h * 0.25);
    draw(c, w, h);
    return canvas;
  }
}

// stamp copies a picture to a place {x, y, w, h, angle}.
export function stamp(c, picture, at, alpha = 1, grow = 1) {
  c.save();
  c.translate(at.x, at.y);
  c.rotate(at.angle);
  c.globalAlpha = alpha;
  const [w, h] = [at.w * 1.5 * grow, at.h * 1.5 * grow];
  c.drawImage(picture, -w / 2, -h / 2, w, h);
  c.restore();
}

function gradient(c, x0, y0, x1, y1, colors) {
  const g = c.createLinearGradient(x0, y0, x1, y1);
  colors.forEach((color, i) => g.addColorStop(i / (colors.length - 1), color));
  return g;
}

function envelope(c, w, h, tint) {
  const r = w * 0.11;
  c.save();
  c.shadowColor = "rgb(40 0 8 / 0.5)";
  c.shadowBlur = w * 0.3;
  c.shadowOffsetY = w * 0.12;
  c.fillStyle = gradient(c, 0, 0, w * 0.4, h, tint.body);
  c.beginPath();
  c.roundRect(0, 0, w, h, r);
  c.fill();
  c.restore();

  c.save();
  c.beginPath();
  c.roundRect(0, 0, w, h, r);
  c.clip();
  waves(c, w, h);
  flap(c, w, h, tint);
  c.restore();

  c.lineWidth = Math.max(1, w * 0.018);
  c.strokeStyle = gradient(c, 0, 0, w, h, ["rgb(255 226 150 / 0.95)", "rgb(255 196 90 / 0.25)", "rgb(255 214 120 / 0.7)"]);
  c.beginPath();
  c.roundRect(c.lineWidth / 2, c.lineWidth / 2, w - c.lineWidth, h - c.lineWidth, r);
  c.stroke();
  coin(c, w / 2, h * 0.42, w * 0.2);
}

// waves is the old pattern of overlapping sea waves, faint, on the lower part.
function waves(c, w, h) {
  c.strokeStyle = "rgb(255 214 130 / 0.2)";
  c.lineWidth = Math.max(0.75, w * 0.014);
  const step = w / 3.5;
  for (let row = 0; row < 3; row++) {
    for (let i = -1; i < 5; i++) {
      const [x, y] = [i * step + (row % 2) * (step / 2), h - row * step * 0.42];
      for (const f of [0.5, 0.32, 0.14]) {
        c.beginPath();
        c.arc(x, y, step * f, Math.PI, 2 * Math.PI);
        c.stroke();
      }
    }
  }
}

function flap(c, w, h, tint) {
  c.save();
  c.shadowColor = "rgb(90 0 12 / 0.55)";
  c.shadowBlur = w * 0.1;
  c.shadowOffsetY = w * 0.03;
  c.fillStyle = gradient(c, 0, 0, 0, h * 0.45, tint.flap);
  c.beginPath();
  c.moveTo(0, 0);
  c.lineTo(w, 0);
  c.lineTo(w, h * 0.26);
  c.quadraticCurveTo(w / 2, h * 0.58, 0, h * 0.26);
  c.closePath();
  c.fill();
  c.restore();
  c.strokeStyle = "rgb(255 224 150 / 0.75)";
  c.lineWidth = Math.max(1, w * 0.02);
  c.beginPath();
  c.moveTo(w, h * 0.26);
  c.quadraticCurveTo(w / 2, h * 0.58, 0, h * 0.26);
  c.stroke();
}

// coin is a round coin with a square hole.
export function coin(c, x, y, r) {
  c.save();
  c.translate(x, y);
  c.shadowColor = "rgb(70 10 0 / 0.5)";
  c.shadowBlur = r * 0.4;
  c.shadowOffsetY = r * 0.12;
  c.fillStyle = gradient(c, -r, -r, r, r, GOLD);
  c.beginPath();
  c.arc(0, 0, r, 0, 2 * Math.PI);
  c.fill();
  c.shadowColor = "transparent";
  c.strokeStyle = "rgb(166 96 14 / 0.75)";
  c.lineWidth = Math.max(0.75, r * 0.09);
  c.beginPath();
  c.arc(0, 0, r * 0.8, 0, 2 * Math.PI);
  c.stroke();
  const q = r * 0.31;
  c.fillStyle = "#a3161f";
  c.fillRect(-q, -q, 2 * q, 2 * q);
  c.strokeRect(-q, -q, 2 * q, 2 * q);
  c.restore();
}

// bomb is the decoy: no packet's shape, no packet's colour.
function bomb(c, w, h) {
  const [x, y, r] = [w / 2, h * 0.58, w * 0.42];
  c.save();
  c.shadowColor = "rgb(0 0 0 / 0.45)";
  c.shadowBlur = w * 0.24;
  c.shadowOffsetY = w * 0.1;
  const g = c.createRadialGradient(x - r * 0.4, y - r * 0.45, r * 0.1, x, y, r);
  g.addColorStop(0, "#8f9bb3");
  g.addColorStop(0.35, "#454f68");
  g.addColorStop(1, "#171c2b");
  c.fillStyle = g;
  c.beginPath();
  c.arc(x, y, r, 0, 2 * Math.PI);
  c.fill();
  c.restore();

  c.fillStyle = "#2c3448";
  c.beginPath();
  c.roundRect(x - r * 0.26, y - r * 1.16, r * 0.52, r * 0.3, r * 0.08);
  c.fill();
  c.strokeStyle = "#c9a26a";
  c.lineWidth = w * 0.05;
  c.lineCap = "round";
  c.beginPath();
  c.moveTo(x, y - r * 1.14);
  c.quadraticCurveTo(x + r * 0.1, y - r * 1.6, x + r * 0.6, y - r * 1.5);
  c.stroke();
  spark(c, x + r * 0.66, y - r * 1.5, r * 0.36);
  cross(c, x, y + r * 0.05, r * 0.3);
}

function spark(c, x, y, r) {
  c.fillStyle = "#ffd964";
  c.beginPath();
  for (let i = 0; i < 16; i++) {
    const [a, d] = [(i * Math.PI) / 8, i % 2 ? r * 0.42 : r];
    c.lineTo(x + Math.cos(a) * d, y + Math.sin(a) * d);
  }
  c.fill();
  c.fillStyle = "#ff8a3c";
  c.beginPath();
  c.arc(x, y, r * 0.34, 0, 2 * Math.PI);
  c.fill();
}

function cross(c, x, y, r) {
  c.strokeStyle = "rgb(255 255 255 / 0.5)";
  c.lineWidth = r * 0.4;
  c.beginPath();
  c.moveTo(x - r, y - r);
  c.lineTo(x + r, y + r);
  c.moveTo(x + r, y - r);
  c.lineTo(x - r, y + r);
  c.stroke();
}
