// When to try again: full jitter, so that a hall full of phones does not come back in the same instant.

// delay is the wait in ms before attempt number `attempt` (0 is the first). floor is what the server has asked
// to wait at least; the jitter goes on top of it.
export function delay(attempt, { floor = 0, base = 500, cap = 15_000, random = Math.random } = {}) {
  return floor + random() * Math.min(cap, base * 2 ** Math.min(attempt, 16));
}
