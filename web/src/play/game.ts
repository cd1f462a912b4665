// The game on the scene: a finger hits a packet, the packet bursts, the server decides, the page shows the outcome.

import type { RainClient, TapResult } from "../../sdk/index.ts";
import type { Scene } from "../rain/scene.ts";
import type { Prize } from "../rain/prize.ts";
import { type Drop, type Hit, topmost } from "../rain/sky.ts";

/** PRACTICE replaces the id of a rain for practice drops: the server does not know them. */
export const PRACTICE = "practice";

const LAG = 200; // ms; the time stamp of an older event is not trusted

/** Scored is an answered tap. line is the page's text about it. */
export interface Scored {
  /** the rain in which it was tapped */
  rain: string;
  result: TapResult;
  /** a key of the texts and the looks: the outcome, or "decoy" */
  look: string;
  line: string;
  small: string;
  prize: Prize;
}

/** Around are the parts of the page that the game needs. */
export interface Around {
  canvas: HTMLCanvasElement;
  scene: Scene;
  client: () => RainClient | null;
  now: () => number;
  /** whether drops can be hit: in a rain, or in practice */
  active: () => boolean;
  /** the kind of a win, by the average packet */
  prize: (result: TapResult) => Prize;
  /** the texts of an outcome: a line and a smaller one */
  words: (look: string, result: TapResult, prize: Prize) => readonly [string, string];
  /** a drop for practice was hit */
  practised: (drop: Drop) => void;
  /** a tap is in flight */
  tapped: (rain: string) => void;
  scored: (s: Scored) => void;
}

// lookOf returns the key of an outcome. A tap without an answer may have won, so it is not shown as lost.
function lookOf(decoy: boolean, result: TapResult): string {
  if (result.outcome === "unavailable" && !result.retryable) return "unsure";
  return decoy && result.outcome === "empty" ? "decoy" : result.outcome;
}

/** Game sends the taps and shows their results. It lives as long as the page. */
export class Game {
  readonly #around: Around;

  constructor(around: Around) {
    this.#around = around;
    const { canvas } = around;
    canvas.addEventListener("pointerdown", (e) => this.#down(e));
    canvas.addEventListener("contextmenu", (e) => e.preventDefault()); // a long press is a tap here
  }

  /** tap is the same for a finger and for a key. */
  async tap(hit: Hit): Promise<void> {
    const { scene, words, prize: prizeOf, tapped, scored } = this.#around;
    const client = this.#around.client();
    const rain = scene.sky.rain;
    if (rain === null || hit.drop.tapped) return;
    if (rain === PRACTICE) {
      scene.burst(hit);
      return this.#around.practised(hit.drop);
    }
    if (!client) return;
    scene.burst(hit);
    tapped(rain);
    const { id, x, at, fall, decoy } = hit.drop;
    const result = await client.tap({ id, x, at, fall_ms: fall, kind: decoy ? "decoy" : "packet" }); // the whole drop: the client needs its times to give up in time
    if (result.outcome !== "won" && result.retryable) hit.drop.tapped = false;
    const look = lookOf(decoy, result);
    const prize = prizeOf(result);
    const [line, small] = words(look, result, prize);
    scene.tell(hit.drop.id, { look, line, small, prize });
    scored({ rain, result, look, line, small, prize });
  }

  // down: each finger is a separate tap. The screen at the moment of the touch counts, not at that of the event.
  #down(e: PointerEvent): void {
    const { canvas, scene, now, active } = this.#around;
    if (e.button !== 0 || !active()) return;
    e.preventDefault(); // no selection, no mouse events after it
    const lag = Math.min(LAG, Math.max(0, performance.now() - e.timeStamp));
    const box = canvas.getBoundingClientRect();
    const hit = topmost(scene.sky.drops, now() - lag, scene.view, e.clientX - box.left, e.clientY - box.top, scene.still);
    if (hit) void this.tap(hit);
  }
}
