// The game by keyboard: a ring moves over the packets in the air, a key opens the one in it.

import type { Scene } from "../rain/scene.ts";
import { type Drop, type Hit, place } from "../rain/sky.ts";
import type { Game } from "./game.ts";

type Direction = "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight";

/** Around are the parts of the page that the keys need. */
export interface Around {
  canvas: HTMLCanvasElement;
  scene: Scene;
  game: Game;
  now: () => number;
  active: () => boolean;
  /** describes the ring to a screen reader: a packet or a decoy, and its position from below */
  say: (key: "ring_packet" | "ring_decoy" | "ring_none", values: { n: number; total: number }) => void;
}

/** Keys listens for as long as the page lives. Tab past the last packet and Esc leave the canvas as usual. */
export class Keys {
  readonly #around: Around;
  #last = false;

  constructor(around: Around) {
    this.#around = around;
    document.addEventListener("keydown", () => (this.#last = true), { capture: true });
    document.addEventListener("pointerdown", () => (this.#last = false), { capture: true });
    document.addEventListener("keydown", (e) => this.#down(e));
    around.canvas.addEventListener("blur", () => this.#ring(null));
  }

  /** used reports whether the last input was a key, so that the focus must be visible. */
  get used(): boolean {
    return this.#last;
  }

  #down(e: KeyboardEvent): void {
    const { canvas, active, scene } = this.#around;
    if (!active() || e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented) return;
    const on = document.activeElement;
    if (on !== null && on !== document.body && on !== canvas) return; // the key belongs to a button
    switch (e.key) {
      case " ":
      case "Enter":
        e.preventDefault();
        if (!e.repeat) this.#open(e.key === " ");
        return;
      case "ArrowUp":
      case "ArrowDown":
      case "ArrowLeft":
      case "ArrowRight":
        e.preventDefault();
        this.#move(e.key);
        return;
      case "Tab":
        if (on === canvas && this.#next(e.shiftKey ? -1 : 1)) e.preventDefault();
        return;
      case "Escape":
        if (scene.focus) e.preventDefault();
        this.#ring(null);
    }
  }

  /** air is the drops that are visible enough to be tapped now, the lowest first. */
  #air(): Hit[] {
    const { scene, now } = this.#around;
    const t = now();
    const hits: Hit[] = [];
    for (const drop of scene.sky.drops) {
      const at = drop.tapped ? null : place(drop, t, scene.view, scene.still);
      if (at && at.y > 0 && at.y < scene.view.height) hits.push({ drop, at });
    }
    return hits.sort((a, b) => b.at.y - a.at.y);
  }

  #open(lowest: boolean): void {
    const air = this.#air();
    const hit = air.find((h) => h.drop === this.#around.scene.focus) ?? (lowest ? air.find((h) => !h.drop.decoy) : undefined);
    if (!hit) return;
    this.#ring(null);
    void this.#around.game.tap(hit);
  }

  // next moves up from the lowest; false if there is no further one.
  #next(step: number): boolean {
    const air = this.#air();
    const i = air.findIndex((h) => h.drop === this.#around.scene.focus);
    const hit = air[i < 0 ? (step > 0 ? 0 : air.length - 1) : i + step];
    this.#ring(hit?.drop ?? null, air);
    return hit !== undefined;
  }

  // move goes to the nearest drop in a direction. Sideways distance counts more than distance straight ahead.
  #move(key: Direction): void {
    const air = this.#air();
    const from = air.find((h) => h.drop === this.#around.scene.focus)?.at;
    if (!from) {
      const first = air.find((h) => !h.drop.decoy) ?? air[0];
      this.#ring(first?.drop ?? null, air, true);
      return;
    }
    const upright = key === "ArrowUp" || key === "ArrowDown";
    const sign = key === "ArrowUp" || key === "ArrowLeft" ? -1 : 1;
    let best: Hit | null = null;
    let least = Infinity;
    for (const hit of air) {
      const [dx, dy] = [hit.at.x - from.x, hit.at.y - from.y];
      const ahead = sign * (upright ? dy : dx);
      const distance = ahead + 2 * Math.abs(upright ? dx : dy);
      if (ahead > 1 && distance < least) [best, least] = [hit, distance];
    }
    if (best) this.#ring(best.drop, air);
  }

  #ring(drop: Drop | null, air: readonly Hit[] = [], tell = false): void {
    const { scene, say } = this.#around;
    if (scene.focus !== drop) {
      scene.focus = drop;
      scene.wake();
    }
    if (drop) say(drop.decoy ? "ring_decoy" : "ring_packet", { n: air.findIndex((h) => h.drop === drop) + 1, total: air.length });
    else if (tell) say("ring_none", { n: 0, total: 0 });
  }
}
