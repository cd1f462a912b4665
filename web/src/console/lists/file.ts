// Checks of a file before it is sent.

/** The server's limit of a list's file. */
export const MAX_FILE_BYTES = 128 << 20;

const SHOWN = 3; // lines
const LOOKED_AT = 1_000; // bytes, for these lines
const NEWLINE = 10;

/** Glance is a file's number of lines, and its beginning. */
export interface Glance {
  lines: number;
  begin: string[];
}

/** glance reads a whole file and keeps nothing of it. */
export async function glance(file: File, signal: AbortSignal): Promise<Glance> {
  const begin = (await file.slice(0, LOOKED_AT).text()).split(/\r?\n/).filter((line) => line.trim() !== "").slice(0, SHOWN);
  const reader = file.stream().getReader();
  let lines = 0;
  let last = NEWLINE; // the byte before
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (signal.aborted) return reader.cancel().then(() => ({ lines, begin }));
    for (const byte of value) {
      if (byte !== NEWLINE && last === NEWLINE) lines++;
      last = byte;
    }
  }
  return { lines, begin };
}
