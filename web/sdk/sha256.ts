// SHA-256 (FIPS 180-4). The browser's own is missing on plain http, which is common in halls.

const primes = (n: number): number[] => {
  const found: number[] = [];
  for (let i = 2; found.length < n; i++) if (found.every((p) => i % p !== 0)) found.push(i);
  return found;
};
const PRIMES = primes(64);

// fraction is the first 32 bits of the fractional part of a root. A double has 53 bits, and the whole part needs five.
const fraction = (root: number): number => ((root - Math.floor(root)) * 2 ** 32) | 0;
const K = PRIMES.map((p) => fraction(Math.cbrt(p)));
const START = PRIMES.slice(0, 8).map((p) => fraction(Math.sqrt(p)));

const turn = (x: number, n: number): number => (x >>> n) | (x << (32 - n));

/** sha256 is the hash of some bytes. */
export function sha256(text: Uint8Array): Uint8Array<ArrayBuffer> {
  const padded = new Uint8Array((((text.length + 8) >> 6) + 1) << 6);
  padded.set(text);
  padded[text.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 4, text.length * 8);
  const state = new Int32Array(START);
  const w = new Int32Array(64);
  const at = (i: number): number => w[i] as number;
  for (let block = 0; block < padded.length; block += 64) {
    for (let i = 0; i < 64; i++) {
      if (i < 16) {
        w[i] = view.getInt32(block + 4 * i);
        continue;
      }
      const [x, y] = [at(i - 15), at(i - 2)];
      w[i] = at(i - 16) + (turn(x, 7) ^ turn(x, 18) ^ (x >>> 3)) + at(i - 7) + (turn(y, 17) ^ turn(y, 19) ^ (y >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
    for (let i = 0; i < 64; i++) {
      const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + (K[i] as number) + at(i)) | 0;
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((x, i) => (state[i] = (state[i] as number) + x));
  }
  const out = new DataView(new ArrayBuffer(32));
  state.forEach((x, i) => out.setInt32(4 * i, x));
  return new Uint8Array(out.buffer);
}
