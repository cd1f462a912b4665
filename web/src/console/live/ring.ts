// The data of the charts: the figures of the last minutes, one row a second.

/** KEYS are the columns of the ring. */
export const KEYS = ["grabs", "won", "stock", "paid", "online", "p50", "p99", "wins", "empty", "late"] as const;
export type Key = (typeof KEYS)[number];
export type Row = Partial<Record<Key, number | null>>;

/** SPAN is the length of the ring in seconds. */
export const SPAN = 15 * 60;
/** GAP is the time without a row, in seconds, after which the lines break. */
export const GAP = 3.5;

/** Past is a row of the past; it stands for the span of seconds before it. */
export interface Past {
  time: number;
  span: number;
  row: Row;
}

/** Ring keeps the rows of the last SPAN seconds. Times are seconds. */
export class Ring {
  #times: number[] = [];
  readonly #columns: Record<Key, (number | null)[]> = { grabs: [], won: [], stock: [], paid: [], online: [], p50: [], p99: [], wins: [], empty: [], late: [] };

  /** push adds a row. A late row leaves a gap before it. */
  push(time: number, row: Row): void {
    const last = this.#times.at(-1);
    if (last !== undefined && time <= last) return;
    if (last !== undefined && time - last > GAP) this.#add(last + 1, {});
    this.#add(time, row);
    let old = 0;
    while ((this.#times[old] ?? time) < time - SPAN) old++;
    if (old === 0) return;
    this.#times.splice(0, old);
    for (const key of KEYS) this.#columns[key].splice(0, old);
  }

  #add(time: number, row: Row): void {
    this.#times.push(time);
    for (const key of KEYS) this.#columns[key].push(row[key] ?? null);
  }

  /** before puts older rows before the first one, and ignores others. */
  before(past: readonly Past[]): void {
    const first = this.#times[0] ?? Infinity;
    const older = new Ring();
    for (const { time, span, row } of past) {
      if (time >= first) break;
      const last = older.#times.at(-1);
      if (last !== undefined && time - last > Math.max(GAP, 2 * span)) older.#add(last + 1, {});
      older.#add(time, row);
    }
    const last = older.#times.at(-1);
    if (last !== undefined && first - last > GAP && first < Infinity) older.#add(last + 1, {});
    this.#times.unshift(...older.#times);
    for (const key of KEYS) this.#columns[key].unshift(...older.#columns[key]);
  }

  /** since returns the times from one on, and some columns, for a chart. */
  since(time: number, keys: readonly Key[]): [number[], ...(number | null)[][]] {
    let from = this.#times.findIndex((t) => t >= time);
    if (from < 0) from = this.#times.length;
    else if (from > 0) from--; // so that the line comes in from the edge
    return [this.#times.slice(from), ...keys.map((key) => this.#columns[key].slice(from))];
  }

  /** last is the newest value of a column; null if the newest row has none. */
  last(key: Key): number | null {
    return this.#columns[key].at(-1) ?? null;
  }

  /** most returns the largest value of a column since a time; null if there is none. */
  most(key: Key, time: number): number | null {
    let most: number | null = null;
    this.#times.forEach((t, i) => {
      const v = this.#columns[key][i];
      if (t >= time && v != null && (most === null || v > most)) most = v;
    });
    return most;
  }
}
