// The game on the scene: a finger hits a packet, the packet bursts, the server decides, the outcome is shown.

import { topmost } from "../rain/sky.ts";

// Game sends the taps and shows their results. It is told what a text is by `words(outcome, result)` → [line, small line],
// and tells of each result by the event `result` {result, decoy}.
export class Game extends EventTarget {
  #scene;
  #client;
  #clock;
  #words;

  constructor({ canvas, scene, client, clock, words }) {
    super();
    this.#scene = scene;
    this.#client = client;
    this.#clock = clock;
    this.#words = words;
    canvas.addEventListener("pointerdown", (e) => this.#down(e));
    canvas.addEventListener("contextmenu", (e) => e.preventDefault()); // a long press is a tap here
  }

  // wave takes up a wave of the rain.
  wave(message) {
    this.#scene.sky.add(message);
    this.#scene.wake();
  }

  #down(e) {
    if (e.button !== 0) return;
    e.preventDefault();
    const box = e.currentTarget.getBoundingClientRect();
    const { sky, view, still } = this.#scene;
    const hit = topmost(sky.drops, this.#clock.now(), view, e.clientX - box.left, e.clientY - box.top, still);
    if (hit) this.#tap(hit);
  }

  async #tap(hit) {
    const { drop } = hit;
    this.#scene.burst(hit);
    const result = await this.#client.tap(drop.id);
    if (result.retryable) drop.tapped = false;
    const decoy = drop.decoy && result.outcome === "empty";
    const look = decoy ? "decoy" : result.outcome;
    const [line, small] = this.#words(look, result);
    this.#scene.tell(drop.id, look, line, small);
    this.dispatchEvent(new CustomEvent("result", { detail: { result, decoy, line } }));
  }
}
