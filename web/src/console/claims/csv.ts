// Saving a CSV that may have millions of rows.

/** Sink is the destination of the file. */
export interface Sink {
  write(chunk: Uint8Array): Promise<void>;
  close(): Promise<void>;
  /** abort deletes the written part. */
  abort(): Promise<void>;
}

/** Saved is the progress of a CSV: rows without the header, bytes. */
export interface Saved {
  rows: number;
  bytes: number;
}

/** Part of the File System Access API, which not every browser has: https://wicg.github.io/file-system-access/. */
interface Picker {
  showSaveFilePicker?: (options: { suggestedName: string; types: { accept: Record<string, string[]> }[] }) => Promise<{
    createWritable(): Promise<{ write(chunk: Uint8Array): Promise<void>; close(): Promise<void>; abort(): Promise<void> }>;
  }>;
}

/**
 * canStream reports whether rows can be written directly to a file that the operator chooses. Otherwise they are
 * collected in memory.
 */
export function canStream(): boolean {
  return typeof (window as unknown as Picker).showSaveFilePicker === "function";
}

/**
 * openSink asks for the destination of the file. It must be called from a click. An AbortError means that the operator
 * has cancelled.
 */
export async function openSink(name: string): Promise<Sink> {
  const pick = (window as unknown as Picker).showSaveFilePicker;
  if (!pick) return new BlobSink(name);
  const file = await pick.call(window, { suggestedName: name, types: [{ accept: { "text/csv": [".csv"] } }] });
  return file.createWritable();
}

/** BlobSink gathers the file in memory and gives it to the browser as a download at the end. */
class BlobSink implements Sink {
  readonly #name: string;
  #parts: BlobPart[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#parts.push(chunk as Uint8Array<ArrayBuffer>);
  }

  async close(): Promise<void> {
    const url = URL.createObjectURL(new Blob(this.#parts, { type: "text/csv" }));
    const link = document.createElement("a");
    link.href = url;
    link.download = this.#name;
    link.click();
    // The URL must live until the browser has taken over the download.
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  }

  async abort(): Promise<void> {
    this.#parts = [];
  }
}

/**
 * saveCSV writes a CSV as it comes in. If it breaks off, or signal aborts, it deletes the file and throws: a partial
 * list of payments must not look complete. Rows are counted by their ends; an id holds no line break.
 */
export async function saveCSV(body: ReadableStream<Uint8Array>, sink: Sink, signal: AbortSignal, progress: (saved: Saved) => void): Promise<Saved> {
  const saved = { rows: -1, bytes: 0 };
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      signal.throwIfAborted();
      if (done) break;
      await sink.write(value);
      saved.bytes += value.length;
      for (const byte of value) if (byte === 10) saved.rows++;
      progress({ rows: Math.max(0, saved.rows), bytes: saved.bytes });
    }
  } catch (cause) {
    await Promise.allSettled([reader.cancel(), sink.abort()]);
    throw cause;
  }
  await sink.close();
  return { rows: Math.max(0, saved.rows), bytes: saved.bytes };
}

/** size is a number of bytes for people: 1,024 bytes are a KB. */
export function size(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  const mb = bytes / (1 << 20);
  return mb < 1 ? `${(bytes / 1_024).toFixed(1)} KB` : `${mb.toFixed(1)} MB`;
}
