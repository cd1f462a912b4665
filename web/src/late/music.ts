// The music, made and not loaded: plucked strings on the five notes of the 宫 scale, with a bass and a drum in a rain.

/** Mood is the occasion of the music: none, the wait, the last seconds before a rain, the rain. */
export type Mood = "none" | "calm" | "soon" | "rain";

const TEMPO: Record<Mood, number> = { none: 0, calm: 76, soon: 100, rain: 124 }; // beats in a minute
const RISE = 26; // beats that the highest combo adds
const LOOK = 100; // ms between two looks at the next notes
const AHEAD = 0.35; // s for which notes are scheduled ahead, so that a busy page leaves no gap
const LOUD = 0.32;
const ROOT = 293.66; // Hz: d
const SCALE = [0, 2, 4, 7, 9]; // semitones

// Melodies in sixteenths, one sign each: a digit is a note of the scale from the root up, a point is none.
const CALM = "0...2...3.......4...3...2.......1...2...4...3...2...1...0.......";
const SOON = "0.0.2.0.3.0.2.0.4.0.3.0.5.4.3.2.";
const RAIN = ["0.2.3.2.4.3.2.3.5.4.3.4.2.3.1.2.", "5.4.5.7.5.4.3.4.2.3.4.2.1.2.0...", "0.3.2.3.5.3.4.5.7.5.4.5.3.4.2.3.", "7.7.5.4.5.5.4.3.4.3.2.1.0.1.0..."];
const BASS: Record<Mood, string> = { none: "", calm: "0...............3...............", soon: "0...0...0...0...", rain: "0..0..0.3..3..2." };

/** Music plays into a node of an AudioContext until it is stopped. */
export class Music {
  readonly #audio: AudioContext;
  readonly #out: GainNode;
  readonly #timer: ReturnType<typeof setInterval>;
  #mood: Mood = "none";
  #energy = 0;
  #step = 0;
  #next = 0; // time of the next sixteenth, s of the audio's clock

  constructor(audio: AudioContext) {
    this.#audio = audio;
    this.#out = audio.createGain();
    this.#out.gain.value = LOUD;
    this.#out.connect(audio.destination);
    this.#timer = setInterval(() => this.#look(), LOOK);
  }

  /** play changes the music; energy 0…1 follows the combo. */
  play(mood: Mood, energy: number): void {
    this.#energy = energy;
    if (mood === this.#mood) return;
    this.#mood = mood;
    this.#step = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#out.disconnect();
  }

  #look(): void {
    const { currentTime, state } = this.#audio;
    if (this.#mood === "none" || state !== "running") return;
    if (this.#next < currentTime) this.#next = currentTime + 0.05; // after silence or a hidden page, missed notes are skipped
    while (this.#next < currentTime + AHEAD) {
      this.#sixteenth(this.#next);
      const rise = this.#mood === "rain" ? RISE * this.#energy : 0;
      this.#next += 15 / (TEMPO[this.#mood] + rise);
      this.#step++;
    }
  }

  #sixteenth(at: number): void {
    const i = this.#step;
    const rain = this.#mood === "rain";
    const melody = rain ? (RAIN[(i >> 5) % RAIN.length] ?? CALM) : this.#mood === "soon" ? SOON : CALM;
    const note = degree(melody, i);
    if (note !== null) {
      this.#pluck(pitch(note) * 2, at, rain ? 0.5 : 0.4, rain ? 0.4 : 0.9);
      if (rain && this.#energy > 0.3) this.#pluck(pitch(note) * 4, at, 0.12 + 0.12 * this.#energy, 0.25); // an octave higher, too
    }
    const low = degree(BASS[this.#mood], i);
    if (low !== null) this.#pluck(pitch(low) / 2, at, 0.5, rain ? 0.35 : 1.4);
    if (rain && i % 4 === 0) this.#drum(at, i % 16 === 0 ? 0.7 : 0.45);
    if (rain && this.#energy > 0.6 && i % 2 === 1) this.#pluck(2349, at, 0.05, 0.05);
  }

  // pluck is a string: it begins at once and dies away. The browser frees its nodes at the end.
  #pluck(hz: number, at: number, loud: number, lasts: number): void {
    const voice = this.#audio.createOscillator();
    voice.type = "triangle";
    voice.frequency.value = hz;
    this.#level(voice, at, loud, lasts);
  }

  #drum(at: number, loud: number): void {
    const voice = this.#audio.createOscillator();
    voice.frequency.setValueAtTime(130, at);
    voice.frequency.exponentialRampToValueAtTime(48, at + 0.12);
    this.#level(voice, at, loud, 0.16);
  }

  #level(voice: OscillatorNode, at: number, loud: number, lasts: number): void {
    const level = this.#audio.createGain();
    level.gain.setValueAtTime(0, at);
    level.gain.linearRampToValueAtTime(loud, at + 0.006);
    level.gain.exponentialRampToValueAtTime(0.0005, at + lasts);
    voice.connect(level).connect(this.#out);
    voice.start(at);
    voice.stop(at + lasts + 0.02);
  }
}

function degree(line: string, step: number): number | null {
  const sign = line[step % line.length] ?? ".";
  return sign === "." ? null : Number(sign);
}

/** pitch is the frequency of a note of the scale, counted from the root. */
function pitch(note: number): number {
  const semitones = (SCALE[note % SCALE.length] ?? 0) + 12 * Math.floor(note / SCALE.length);
  return ROOT * 2 ** (semitones / 12);
}
