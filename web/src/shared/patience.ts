// Time limits for answers. AbortSignal.timeout is newer than some of the players' phones.

/** within is a signal that aborts after ms. A dead connection would never end by itself. */
export function within(ms: number): AbortSignal {
  const patience = new AbortController();
  setTimeout(() => patience.abort(), ms);
  return patience.signal;
}
