// Where a rain is in its life, told by the server's clock between two messages of the server.

// phaseOf is "none", "countdown", "falling", "paused" or "ended". A pause or a stop is only known from the server;
// the rest follows from the times.
export function phaseOf(rain, t) {
  if (!rain) return "none";
  if (rain.phase === "ended" || t >= rain.ends_at) return "ended";
  if (rain.phase === "paused") return "paused";
  return t < rain.starts_at ? "countdown" : "falling";
}

// countdown is the text of the time that is left: whole seconds, minutes from a minute on.
export function countdown(ms) {
  const s = Math.max(0, Math.ceil(ms / 1000));
  if (s < 60) return String(s);
  const two = (n) => String(n).padStart(2, "0");
  const [h, m] = [Math.floor(s / 3600), Math.floor((s % 3600) / 60)];
  return h > 0 ? `${h}:${two(m)}:${two(s % 60)}` : `${m}:${two(s % 60)}`;
}
