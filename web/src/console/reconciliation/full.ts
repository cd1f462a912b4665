import { ApiError, apiResponse } from "../api.ts";
import type { Books, FullProofLine, ProofProgress } from "../../shared/schemas.ts";

/**
 * proveAll starts a proof that reads every row. The server sends a line of JSON each second, and the books in the last
 * one. Without that line nothing is proved.
 */
export async function proveAll(signal: AbortSignal, progress: (p: ProofProgress) => void): Promise<Books> {
  const response = await apiResponse("/reconciliation/full", { signal, accept: "application/x-ndjson" });
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  try {
    for (let text = ""; reader; ) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        const { progress: p, books } = JSON.parse(line) as FullProofLine;
        if (books) return books;
        if (p) progress(p);
      }
    }
  } catch (cause) {
    throw new ApiError({ message: String(cause) });
  }
  throw new ApiError({ message: "the answer was cut off" });
}
