// The proof of work that a server may require of a guest. The worker is src/work.

import type { Work } from "./schemas.ts";

/**
 * work lets a worker find the number of a challenge, and returns the proof. The page has the address of the worker's
 * script.
 */
export async function work(w: Work): Promise<string> {
  const worker = new Worker(document.querySelector<HTMLMetaElement>("meta[name=work]")?.content ?? "");
  try {
    const number = await new Promise<number | null>((found, failed) => {
      worker.addEventListener("message", (e: MessageEvent<number | null>) => found(e.data));
      worker.addEventListener("error", () => failed(new Error("the worker has failed")));
      worker.postMessage(w);
    });
    if (number === null) throw new Error("the challenge has no answer");
    const { algorithm, challenge, salt, signature } = w;
    return btoa(JSON.stringify({ algorithm, challenge, number, salt, signature }));
  } finally {
    worker.terminate();
  }
}
