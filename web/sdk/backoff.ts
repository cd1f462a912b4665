// When to try again: full jitter, so that a hall full of phones does not come back in the same instant.

/** BASE and CAP bound the window that the jitter is drawn from, in ms: it doubles with each try that fails. */
export const BASE = 1_000;
export const CAP = 15_000;

/** delay is the wait in ms before attempt number `attempt` (0 is the first). random gives numbers from 0 to 1. */
export function delay(attempt: number, random: () => number): number {
  return random() * Math.min(CAP, BASE * 2 ** Math.min(attempt, 16));
}
