// A guest's proof of work (ALTCHA's, version 1), in a worker, so that the page does not block. It gets a Work and
// answers with the number, or with null if there is none.

import { sha256 } from "noble-hashes/esm/sha2.js";
import { bytesToHex, utf8ToBytes } from "noble-hashes/esm/utils.js";
import type { Work } from "../shared/schemas.ts";

addEventListener("message", ({ data }: MessageEvent<Work>) => postMessage(find(data)));

function find({ salt, challenge, maxNumber }: Work): number | null {
  const head = sha256.create().update(utf8ToBytes(salt)); // hashed once for all numbers
  const start = challenge.slice(0, 2);
  const first = parseInt(start, 16);
  for (let n = 0; n <= maxNumber; n++) {
    const hash = head.clone().update(utf8ToBytes(String(n))).digest();
    if (hash[0] === first && bytesToHex(hash) === challenge) return n;
  }
  return null;
}
