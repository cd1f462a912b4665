import { useEffect, useRef, useState } from "preact/hooks";
import { apiResponse, ApiError } from "../api.ts";
import { texts } from "../i18n.ts";
import { claims } from "../strings/claims.ts";
import { Button, faultWords, toast } from "../ui/index.ts";
import { canStream, openSink, saveCSV, size, type Saved } from "./csv.ts";

const t = texts(claims);

/** How often the count of a running download is drawn, in ms. */
const EVERY = 250;

/** Download saves a list of claims as CSV. It says how far it is, and can be stopped. */
export function Download({ path, file }: { path: string; file: string }) {
  const [saved, setSaved] = useState<Saved | null>(null);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);

  async function run(): Promise<void> {
    if (stop.current) return;
    const control = (stop.current = new AbortController());
    let drawn = 0;
    try {
      const sink = await openSink(file);
      setSaved({ rows: 0, bytes: 0 });
      let response: Response;
      try {
        response = await apiResponse(path, { accept: "text/csv", signal: control.signal });
      } catch (fault) {
        await sink.abort();
        throw fault;
      }
      if (!response.body) throw new ApiError({ code: "unreachable" });
      const all = await saveCSV(response.body, sink, control.signal, (now) => {
        if (performance.now() - drawn < EVERY) return;
        drawn = performance.now();
        setSaved(now);
      });
      toast(t("csvDone", { file, rows: all.rows, size: size(all.bytes) }));
    } catch (fault) {
      if (!control.signal.aborted && !isAbort(fault)) toast(fault instanceof ApiError ? faultWords(fault) : t("csvCut"), "bad");
    } finally {
      stop.current = null;
      if (!control.signal.aborted || control.signal.reason === STOPPED) setSaved(null);
    }
  }

  if (saved) {
    return (
      <span class="row download" role="status">
        <span class="soft num">{t("csvBusy", { rows: saved.rows, size: size(saved.bytes) })}</span>
        <Button small onClick={() => stop.current?.abort(STOPPED)}>{t("csvStop")}</Button>
      </span>
    );
  }
  return <Button onClick={() => void run()}>{t("csv")}</Button>;
}

/** DownloadNote says what the file will hold, and whether it may be a large one. filtered: only some claims will be in it. */
export function DownloadNote({ filtered }: { filtered: boolean }) {
  return <p class="soft small">{t("csv")}: {t(filtered ? "csvFiltered" : "csvMore")} {t(canStream() ? "csvFile" : "csvMemory")}</p>;
}

const STOPPED = new DOMException("stopped by the person", "AbortError");

/** isAbort: the person has closed the choice of a file. */
function isAbort(fault: unknown): boolean {
  return fault instanceof DOMException && fault.name === "AbortError";
}
