// The phase of a rain by the server's clock, between two messages of the server.

/** RainTimes are the times that define a rain's phase; the SDK's Rain is one. Times are Unix ms of the server. */
export interface RainTimes {
  phase: string;
  starts_at: number;
  ends_at: number;
}

export type Phase = "none" | "countdown" | "falling" | "paused" | "ended";

/** phaseOf takes a pause or a stop from the server; the rest follows from the times. */
export function phaseOf(rain: RainTimes | null | undefined, t: number): Phase {
  if (!rain) return "none";
  if (rain.phase === "ended" || t >= rain.ends_at) return "ended";
  if (rain.phase === "paused") return "paused";
  return t < rain.starts_at ? "countdown" : "falling";
}

/** countdown formats the remaining time: whole seconds, and minutes from a minute on. */
export function countdown(ms: number): string {
  return ms > 59_000 ? clock(ms) : String(Math.max(0, Math.ceil(ms / 1000)));
}

/** clock formats a duration like a clock: 0:36, 1:02:03. */
export function clock(ms: number): string {
  const s = Math.max(0, Math.ceil(ms / 1000));
  const two = (n: number): string => String(n).padStart(2, "0");
  const [h, m] = [Math.floor(s / 3600), Math.floor((s % 3600) / 60)];
  return h > 0 ? `${h}:${two(m)}:${two(s % 60)}` : `${m}:${two(s % 60)}`;
}
