// A guest's name, and what the server may want for it.

import { ApiError, request } from "./api.ts";
import type { Challenge, Guest } from "./schemas.ts";

const PATIENCE = 10_000; // ms for an answer
const TRIES = 4; // proofs: while somebody works, others of the same address may have made it more

/** Meet does what a challenge asks for, and answers with the proof. */
export type Meet = (challenge: Challenge) => Promise<string>;

/** newGuest asks for a name, and does for it what the server wants, where there is somebody who can. */
export async function newGuest(meet: Meet | null): Promise<Guest> {
  let proof: string | null = null;
  for (let tries = 0; ; tries++) {
    try {
      return await request<Guest>("/guests", { method: "POST", signal: AbortSignal.timeout(PATIENCE), ...(proof === null ? {} : { body: { proof } }) });
    } catch (fault) {
      if (!(fault instanceof ApiError) || !fault.challenge || !meet || tries === TRIES) throw fault;
      proof = await meet(fault.challenge);
    }
  }
}
