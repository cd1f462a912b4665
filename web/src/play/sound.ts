// Sounds, synthesized and not loaded. They are off until somebody switches them on, and the choice is kept.

const STORED = "redrain.sound";

export type Effect = "tap" | "win" | "empty" | "bomb" | "tick" | "go" | "end";

/** Tone is one note: Hz (gliding to `to`), when it begins and how long it lasts (s), how loud, and the wave's shape. */
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
  empty: [{ hz: 240, to: 150, for: 0.14, loud: 0.1, shape: "triangle" }],
  bomb: [{ hz: 130, to: 42, for: 0.3, loud: 0.22, shape: "square" }],
  tick: [{ hz: 880, for: 0.08, loud: 0.14 }],
  go: [{ hz: 1175, for: 0.1, loud: 0.16 }, { hz: 1568, at: 0.09, for: 0.3, loud: 0.16 }],
  end: [{ hz: 784, for: 0.16, loud: 0.12 }, { hz: 659, at: 0.14, for: 0.16, loud: 0.12 }, { hz: 523, at: 0.28, for: 0.4, loud: 0.14 }],
};

/** Sound plays effects while it is on. */
export class Sound {
  #on = recall();
  #audio: AudioContext | null = null;

  constructor() {
    // Browsers allow sound only after a touch or a key.
    if (this.#on) document.addEventListener("pointerdown", () => this.#unlock(), { once: true });
    if (this.#on) document.addEventListener("keydown", () => this.#unlock(), { once: true });
  }

  get on(): boolean {
    return this.#on;
  }

  /** toggle must be called by a person's press, because only that allows sound to start. */
  toggle(): void {
    this.#on = !this.#on;
    remember(this.#on);
    if (this.#on) {
      this.#unlock();
      this.play("tick");
    } else {
      void this.#audio?.close();
      this.#audio = null;
    }
  }

  play(effect: Effect): void {
    const audio = this.#audio;
    if (!this.#on || !audio || audio.state === "closed" || document.hidden) return;
    for (const tone of EFFECTS[effect]) sing(audio, tone);
  }

  #unlock(): void {
    if (!this.#on || typeof AudioContext === "undefined") return;
    this.#audio ??= new AudioContext();
    void this.#audio.resume();
  }
}

// sing makes two nodes, which the browser takes away when the note has ended.
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

/** buzz vibrates, on devices that can, after a person has touched the page. */
export function buzz(pattern: number | number[]): void {
  if (navigator.userActivation?.hasBeenActive) navigator.vibrate?.(pattern);
}

// Storage may be forbidden: then the choice lasts as long as the page.
function recall(): boolean {
  try {
    return localStorage.getItem(STORED) === "on";
  } catch {
    return false;
  }
}

function remember(on: boolean): void {
  try {
    localStorage.setItem(STORED, on ? "on" : "off");
  } catch {
    // see above
  }
}
