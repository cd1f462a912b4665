// Sounds and music, synthesized and not loaded. They begin with the first press on the page. A player's choice to
// switch them off is kept.

import type { Music, Mood } from "../late/music.ts";
import { late } from "./late.ts";

const STORED = "redrain.sound";

export type Effect = "tap" | "win" | "prize" | "empty" | "bomb" | "tick" | "go" | "end" | "open";

/** Tone is one note: Hz (gliding to `to`), start and duration (s), volume, and the shape of the wave. */
interface Tone {
  hz: number;
  to?: number;
  at?: number;
  for: number;
  loud: number;
  shape?: OscillatorType;
}

const EFFECTS: Record<Effect, readonly Tone[]> = {
  tap: [{ hz: 520, to: 760, for: 0.07, loud: 0.1, shape: "triangle" }],
  win: [
    { hz: 784, for: 0.12, loud: 0.16 },
    { hz: 988, at: 0.08, for: 0.12, loud: 0.16 },
    { hz: 1319, at: 0.16, for: 0.3, loud: 0.18 },
    { hz: 2637, at: 0.16, for: 0.24, loud: 0.05 },
  ],
  prize: [
    { hz: 1175, for: 0.14, loud: 0.16 },
    { hz: 1480, at: 0.08, for: 0.14, loud: 0.16 },
    { hz: 1760, at: 0.16, for: 0.14, loud: 0.16 },
    { hz: 2349, at: 0.24, for: 0.6, loud: 0.2 },
    { hz: 587, at: 0.24, for: 0.6, loud: 0.14, shape: "triangle" },
  ],
  open: [{ hz: 98, to: 90, for: 1.6, loud: 0.3 }, { hz: 196, to: 188, for: 1.2, loud: 0.14, shape: "triangle" }, { hz: 523, for: 0.9, loud: 0.06 }],
  empty: [{ hz: 240, to: 150, for: 0.14, loud: 0.1, shape: "triangle" }],
  bomb: [{ hz: 130, to: 42, for: 0.3, loud: 0.22, shape: "square" }],
  tick: [{ hz: 880, for: 0.08, loud: 0.14 }],
  go: [{ hz: 1175, for: 0.1, loud: 0.16 }, { hz: 1568, at: 0.09, for: 0.3, loud: 0.16 }],
  end: [{ hz: 784, for: 0.16, loud: 0.12 }, { hz: 659, at: 0.14, for: 0.16, loud: 0.12 }, { hz: 523, at: 0.28, for: 0.4, loud: 0.14 }],
};

/** Sound plays effects and music while it is on. */
export class Sound {
  #on = recall();
  #audio: AudioContext | null = null;
  #music: Music | null = null;
  #mood: Mood = "none";
  #energy = 0;

  constructor() {
    // Browsers allow sound only after a press. On a phone the press is the lifted finger, and a call suspends the
    // sound.
    for (const type of ["pointerup", "click", "keydown"]) document.addEventListener(type, () => this.#unlock(), { capture: true });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) void this.#audio?.suspend();
      else void this.#audio?.resume().catch(() => {}); // not allowed now: the next press tries again
    });
  }

  get on(): boolean {
    return this.#on;
  }

  toggle(): void {
    this.#on = !this.#on;
    remember(this.#on);
    if (this.#on) {
      this.#unlock();
      this.play("tick");
    } else {
      this.#music?.stop();
      void this.#audio?.close();
      this.#audio = this.#music = null;
    }
  }

  play(effect: Effect): void {
    const audio = this.#audio;
    if (!this.#on || !audio || audio.state === "closed" || document.hidden) return;
    for (const tone of EFFECTS[effect]) sing(audio, tone);
  }

  /** music sets the mood of the music; energy 0…1 follows the combo. */
  music(mood: Mood, energy: number): void {
    [this.#mood, this.#energy] = [mood, energy];
    this.#music?.play(mood, energy);
  }

  #unlock(): void {
    const pressed = navigator.userActivation?.hasBeenActive ?? true;
    if (!this.#on || !pressed || typeof AudioContext === "undefined") return;
    if (!this.#audio) {
      const audio = (this.#audio = new AudioContext());
      void late().then((there) => {
        if (!there || this.#audio !== audio) return;
        this.#music = new there.Music(audio);
        this.#music.play(this.#mood, this.#energy);
      });
    }
    if (this.#audio.state !== "running" && !document.hidden) void this.#audio.resume().catch(() => {});
  }
}

// sing makes two nodes, which the browser frees at the end of the note.
function sing(audio: AudioContext, { hz, to, at = 0, for: lasts, loud, shape = "sine" }: Tone): void {
  const begin = audio.currentTime + at;
  const voice = audio.createOscillator();
  const level = audio.createGain();
  voice.type = shape;
  voice.frequency.setValueAtTime(hz, begin);
  if (to) voice.frequency.exponentialRampToValueAtTime(to, begin + lasts);
  level.gain.setValueAtTime(0, begin);
  level.gain.linearRampToValueAtTime(loud, begin + 0.008);
  level.gain.exponentialRampToValueAtTime(0.0001, begin + lasts);
  voice.connect(level).connect(audio.destination);
  voice.start(begin);
  voice.stop(begin + lasts + 0.02);
}

/** buzz vibrates, if the device can, after the first touch of the page. */
export function buzz(pattern: number | number[]): void {
  if (navigator.userActivation?.hasBeenActive) navigator.vibrate?.(pattern);
}

// Storage may be forbidden: then the choice lasts as long as the page.
function recall(): boolean {
  try {
    return localStorage.getItem(STORED) !== "off";
  } catch {
    return true;
  }
}

function remember(on: boolean): void {
  try {
    localStorage.setItem(STORED, on ? "on" : "off");
  } catch {
    // see above
  }
}
