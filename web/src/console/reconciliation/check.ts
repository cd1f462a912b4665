import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../api.ts";
import { serverNow } from "../servertime.ts";
import type { ProofProgress } from "../../shared/schemas.ts";

/** A Check is something that is asked when a person wants it, and may take minutes. */
export interface Check<T> {
  result: T | null;
  /** When the result came, in Unix ms of the server's clock. */
  at: number | null;
  /** Since when it has been running, by performance.now(); null when it is not. */
  since: number | null;
  /** How far it has come; null while that is not known. */
  progress: ProofProgress | null;
  stopped: boolean;
  fault: ApiError | undefined;
  run: () => void;
  stop: () => void;
}

/**
 * useCheck calls ask, which is the same as long as the component is there. The last result stays while it is asked again. auto: it is
 * asked at once.
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
  // It sets nothing back: it runs after the component has been drawn, and the first click may have come before.
  useEffect(() => {
    if (auto) run();
    return () => {
      running.current?.abort();
      running.current = null;
    };
  }, []);
  return { ...state, run, stop };
}
