import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../api.ts";
import { serverNow } from "../servertime.ts";
import type { ProofProgress } from "../../shared/schemas.ts";

/** A Check is a request that an operator starts and that may take minutes. */
export interface Check<T> {
  result: T | null;
  /** The time of the result, in Unix ms of the server's clock. */
  at: number | null;
  /** The start of the running request, by performance.now(); null if none is running. */
  since: number | null;
  /** The progress; null while it is unknown. */
  progress: ProofProgress | null;
  stopped: boolean;
  fault: ApiError | undefined;
  run: () => void;
  stop: () => void;
}

/**
 * useCheck calls ask, which must not change during the component's life. The last result stays while a new request
 * runs. auto: the first request starts at once.
 */
export function useCheck<T>(ask: (signal: AbortSignal, progress: (p: ProofProgress) => void) => Promise<T>, auto: boolean): Check<T> {
  const [state, setState] = useState<Omit<Check<T>, "run" | "stop">>({ result: null, at: null, since: null, progress: null, stopped: false, fault: undefined });
  const running = useRef<AbortController | null>(null);

  function run(): void {
    if (running.current) return;
    const control = (running.current = new AbortController());
    setState((s) => ({ ...s, since: performance.now(), progress: null, stopped: false, fault: undefined }));
    const progress = (p: ProofProgress) => {
      if (running.current === control) setState((s) => ({ ...s, progress: p }));
    };
    ask(control.signal, progress).then(
      (result) => end(control, { result, at: serverNow(), fault: undefined }),
      (fault: unknown) => end(control, { fault: fault instanceof ApiError ? fault : new ApiError({ code: "page_fault", message: String(fault) }) }),
    );
  }
  // A stopped or superseded check is ignored.
  function end(control: AbortController, what: Partial<Check<T>>): void {
    if (running.current !== control) return;
    running.current = null;
    setState((s) => ({ ...s, ...what, since: null }));
  }
  function stop(): void {
    const control = running.current;
    running.current = null;
    control?.abort();
    setState((s) => ({ ...s, since: null, stopped: true }));
  }
  // It resets no state: the effect runs after the first drawing, and a click may have come before.
  useEffect(() => {
    if (auto) run();
    return () => {
      running.current?.abort();
      running.current = null;
    };
  }, []);
  return { ...state, run, stop };
}
