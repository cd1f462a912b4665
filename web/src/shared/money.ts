// Money is an integer in minor units everywhere; only this file converts it to yuan.

/** yuan formats minor units: 88 is "0.88". It uses no floating point, so nothing is rounded. */
export function yuan(minor: number): string {
  const sign = minor < 0 ? "-" : "";
  const digits = String(Math.abs(minor)).padStart(3, "0");
  return `${sign}${digits.slice(0, -2).replace(/\B(?=(\d{3})+$)/g, ",")}.${digits.slice(-2)}`;
}

/** minor parses a typed amount: "12.3" is 1230. null if it is not an amount. */
export function minor(text: string): number | null {
  const m = /^\s*(\d{1,13})(?:\.(\d{1,2}))?\s*$/.exec(text);
  return m ? Number(m[1]) * 100 + Number((m[2] ?? "").padEnd(2, "0")) : null;
}
