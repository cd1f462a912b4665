// The server's limits of a campaign (rain/validate.go). A test compares them with the server's.

/** Money is in minor units, 1/100 yuan. */
export const MAX_BUDGET = 1_000_000_000_000_000;
export const MAX_PACKETS = 100_000_000;
/** Of a list of amounts: the most that fit in one request. */
export const MAX_LISTED = 1_000_000;
/** Bytes of UTF-8. */
export const MAX_NAME_BYTES = 200;
/** Bytes of UTF-8 of a sponsor's id: a Chinese character has three. */
export const MAX_SPONSOR = 64;
/** Bytes of UTF-8 of a deposit's reference. */
export const MAX_REFERENCE_BYTES = 128;
export const MIN_EXPIRY_MS = 1_000;
export const MAX_EXPIRY_MS = 366 * 24 * 3_600_000;
/** Bytes of a request's body, less some room for the fields beside the list of amounts. */
export const MAX_LIST_BYTES = (16 << 20) - 4_096;

/** COUNTS are the rules of a campaign that are whole numbers: their limits, and their initial values. */
export const COUNTS = {
  wins_per_user: { least: 1, most: 1_000_000, begin: 1 },
  taps_per_user: { least: 0, most: 1_000_000, begin: 0 },
  shards: { least: 1, most: 256, begin: 1 },
  capacity: { least: 0, most: 100_000_000, begin: 0 },
  admit_per_second: { least: 0, most: 1_000_000, begin: 0 },
} as const;

export type Count = keyof typeof COUNTS;

export const COUNT_FIELDS = Object.keys(COUNTS) as Count[];

/** eachCount computes a value for each of COUNTS. */
export function eachCount<V>(value: (field: Count) => V): Record<Count, V> {
  return Object.fromEntries(COUNT_FIELDS.map((field) => [field, value(field)])) as Record<Count, V>;
}

/** bytes is the length of a text in UTF-8, as the server counts it. */
export function bytes(text: string): number {
  return new TextEncoder().encode(text).length;
}
