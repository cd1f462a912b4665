// Figures for support and a handle for tests, with ?debug in the address. Without it the page has none of this.

import type { RainClient } from "../../sdk/index.ts";
import type { Scene } from "../rain/scene.ts";
import { place } from "../rain/sky.ts";

/** Seen is one drop in the air: its middle, size (CSS px) and angle (radians). */
export interface Seen {
  id: string;
  x: number;
  y: number;
  w: number;
  h: number;
  angle: number;
  decoy: boolean;
}

/** Debug is globalThis.redrain. */
export interface Debug {
  /** the server's time, Unix ms */
  serverNow(): number;
  /** the drops in the air at a time of the server */
  drops(t: number): Seen[];
  /** frames drawn, p95 of the script's ms in the last of them, current particles and drops, pixel ratio */
  stats(): { frames: number; p95: number; particles: number; drops: number; ratio: number };
  /** keeps this many drops in the air and particles flying, for this many ms, independent of the server */
  load(drops: number, particles: number, ms: number): Promise<void>;
}

declare global {
  var redrain: Debug | undefined;
}

const FALL = 4_000; // ms

/** expose puts the handle and the overlay on the page. */
export function expose(scene: Scene, now: () => number, client: () => RainClient | null): void {
  const flying = (): number => scene.effects.particles.count(performance.now());
  const debug: Debug = {
    serverNow: now,
    drops: (t) => scene.sky.drops.flatMap((d) => {
      const at = d.tapped ? null : place(d, t, scene.view, scene.still);
      return at ? [{ id: d.id, ...at, decoy: d.decoy }] : [];
    }),
    stats: () => ({
      frames: scene.frames.count, p95: scene.frames.p95(), particles: flying(), drops: scene.sky.drops.length, ratio: scene.ratio,
    }),
    load: (drops, particles, ms) => load(scene, now, flying, drops, particles, ms),
  };
  globalThis.redrain = debug;
  overlay(debug, now, client);
}

function load(scene: Scene, now: () => number, flying: () => number, drops: number, particles: number, ms: number): Promise<void> {
  const rain = scene.sky.rain ?? "debug";
  const until = performance.now() + ms;
  let n = 1e6; // far from the numbers of real waves
  const add = (at: number): void => {
    n++;
    scene.sky.add({ rain, n, at, drops: [{ id: `${n}.0`, x: (n * 373) % 1000, kind: n % 5 ? "packet" : "decoy", fall_ms: FALL }] });
  };
  for (let i = 0; i < drops; i++) add(now() - (i * FALL) / drops);
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      for (let i = scene.sky.drops.length; i < drops; i++) add(now());
      const missing = particles - flying();
      const { width, height } = scene.view;
      if (missing > 0) scene.effects.particles.burst("confetti", missing, width * Math.random(), height * Math.random(), performance.now());
      scene.wake();
      if (performance.now() < until) return;
      clearInterval(timer);
      resolve();
    }, 50);
  });
}

function overlay(debug: Debug, now: () => number, client: () => RainClient | null): void {
  const el = document.createElement("p");
  el.id = "debug";
  el.setAttribute("aria-hidden", "true");
  document.body.append(el);
  let frames = 0;
  setInterval(() => {
    const s = debug.stats();
    const offset = Math.round(now() - Date.now());
    el.textContent = `${s.frames - frames} fps  p95 ${s.p95.toFixed(1)} ms  ×${s.ratio}  drops ${s.drops}  bits ${s.particles}\nrtt ${client()?.rtt.toFixed(0) ?? "–"} ms  offset ${offset} ms`;
    frames = s.frames;
  }, 1_000);
}
