import { useEffect, useRef, useState } from "preact/hooks";
import { api, ApiError } from "../api.ts";
import { serverNow } from "../servertime.ts";

/** A Check is something that is asked when a person wants it, and may take minutes. */
export interface Check<T> {
  result: T | null;
  /** When the result came, in Unix ms of the server's clock. */
  at: number | null;
  /** Since when it has been running, by performance.now(); null when it is not. */
  since: number | null;
  stopped: boolean;
  fault: ApiError | undefined;
  run: () => void;
  stop: () => void;
}

/**
 * useCheck asks a path, which is the same as long as the component is there. The last result stays while it is asked again. auto: it is
 * asked at once.
 */
export function useCheck<T>(path: string, auto: boolean): Check<T> {
  const [state, setState] = useState<Omit<Check<T>, "run" | "stop">>({ result: null, at: null, since: null, stopped: false, fault: undefined });
  const running = useRef<AbortController | null>(null);

  function run(): void {
    if (running.current) return;
    const control = (running.current = new AbortController());
    setState((s) => ({ ...s, since: performance.now(), stopped: false, fault: undefined }));
    api<T>(path, { signal: control.signal }).then(
      (result) => end(control, { result, at: serverNow(), fault: undefined }),
      (fault: unknown) => end(control, { fault: fault instanceof ApiError ? fault : new ApiError({ code: "page_fault", message: String(fault) }) }),
    );
  }
  // What was stopped, or is not looked at any more, has no say.
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
