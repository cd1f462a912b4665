// How long the pages wait for an answer. AbortSignal.timeout is newer than some of the phones that play.

/** within is a signal that aborts after ms, as a line that is dead never does. */
export function within(ms: number): AbortSignal {
  const patience = new AbortController();
  setTimeout(() => patience.abort(), ms);
  return patience.signal;
}
