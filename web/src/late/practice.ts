// Drops to practise on during the wait. The page creates them; they pay nothing, and are not sent to the server.

import { byId } from "../play/dom.ts";
import { PRACTICE } from "../play/game.ts";
import type { Scene } from "../rain/scene.ts";

const EVERY = 420; // ms between two drops
const FALLS = 4_200; // ms from the top to the bottom
const LASTS = 30_000; // ms for which they come
const DECOYS = 5; // each fifth is a decoy

/** Around are the parts of the page that the practice needs. */
export interface Around {
  scene: Scene;
  now: () => number;
  changed: () => void;
}

/** Practice is a button of the waiting page, and the drops that it starts. */
export class Practice {
  readonly #around: Around;
  readonly #button = byId("practice");
  #timer = 0;
  #till = 0; // ms of the page's clock
  #n = 2e6; // far from the numbers of real waves

  constructor(around: Around) {
    this.#around = around;
    this.#button.addEventListener("click", () => (this.on ? this.end() : this.#begin()));
  }

  get on(): boolean {
    return this.#timer !== 0;
  }

  /** allow offers the button. Before a rain it removes the button and all drops. */
  allow(allowed: boolean): void {
    this.#button.hidden = !allowed;
    if (!allowed) this.end();
  }

  end(): void {
    if (!this.on) return;
    clearInterval(this.#timer);
    this.#timer = 0;
    const { scene, changed } = this.#around;
    if (scene.sky.rain === PRACTICE) scene.clear();
    scene.effects.clear();
    changed();
  }

  #begin(): void {
    this.#till = performance.now() + LASTS;
    this.#timer = setInterval(() => this.#drop(), EVERY);
    this.#drop();
    this.#around.changed();
  }

  #drop(): void {
    const { scene, now } = this.#around;
    const { sky } = scene;
    const real = sky.rain !== null && sky.rain !== PRACTICE;
    if (real || performance.now() > this.#till) return this.end();
    const n = this.#n++;
    sky.add({ rain: PRACTICE, n, at: now(), drops: [{ id: `${n}.0`, x: (n * 618) % 1000, kind: n % DECOYS ? "packet" : "decoy", fall_ms: FALLS }] });
    scene.wake();
  }
}
