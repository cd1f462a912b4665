// Hooks of the pages: load something, and do something once.

import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiError, newKey, type Page } from "./api.ts";
import { useReturns } from "./session.ts";

/** Load is something loaded from the server. data stays while it is loaded again. */
export interface Load<T> {
  data: T | undefined;
  fault: ApiError | undefined;
  loading: boolean;
  /** reload asks again. */
  reload: () => void;
  /** set replaces the data with a newer value, such as the answer of an action. */
  set: (data: T) => void;
}

/**
 * useLoad loads when deps change, and drops the data of other deps. The call is aborted when the component is removed or
 * loads again.
 */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, deps: readonly unknown[]): Load<T> {
  const [turn, setTurn] = useState(0);
  const [state, setState] = useState<{ data?: T; fault?: ApiError; loading: boolean; of: string }>({ loading: true, of: "" });
  const of = JSON.stringify(deps);
  const returns = useReturns();
  useEffect(() => {
    const stop = new AbortController();
    setState((s) => (s.of === of && s.data !== undefined ? { data: s.data, loading: true, of } : { loading: true, of }));
    load(stop.signal).then(
      (data) => !stop.signal.aborted && setState({ data, loading: false, of }),
      (fault: unknown) => !stop.signal.aborted && setState((s) => ({ ...(s.data === undefined ? {} : { data: s.data }), fault: asApiError(fault), loading: false, of })),
    );
    return () => stop.abort();
  }, [of, turn, returns]);
  const reload = useCallback(() => setTurn((n) => n + 1), []);
  const set = useCallback((data: T) => setState({ data, loading: false, of }), [of]);
  const mine = state.of === of;
  return { data: mine ? state.data : undefined, fault: mine ? state.fault : undefined, loading: !mine || state.loading, reload, set };
}

/** Pages is a list that comes page by page. */
export interface Pages<T> {
  items: T[];
  fault: ApiError | undefined;
  loading: boolean;
  /** more: there is a next page. */
  more: boolean;
  loadMore: () => void;
  /** reload begins again at the first page. */
  reload: () => void;
}

/** usePages loads a list by its cursor. load gets the cursor, empty for the first page. */
export function usePages<T>(load: (cursor: string, signal: AbortSignal) => Promise<Page<T>>, deps: readonly unknown[]): Pages<T> {
  const first = useLoad((signal) => load("", signal), deps);
  const [rest, setRest] = useState<{ items: T[]; cursor: string; of: Page<T> } | undefined>();
  const [state, setState] = useState<{ loading: boolean; fault?: ApiError; of?: Page<T> }>({ loading: false });
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), [first.data]);
  const page = first.data;
  const mine = rest && rest.of === page ? rest : undefined;
  const cursor = mine ? mine.cursor : (page?.next_cursor ?? "");
  const loadMore = () => {
    if (!page || state.loading || !cursor) return;
    const control = (stop.current = new AbortController());
    setState({ loading: true });
    load(cursor, control.signal).then(
      (next) => {
        setState({ loading: false });
        if (!control.signal.aborted) setRest({ items: [...(mine?.items ?? []), ...next.items], cursor: next.next_cursor ?? "", of: page });
      },
      (fault: unknown) => setState(control.signal.aborted ? { loading: false } : { loading: false, fault: asApiError(fault), of: page }),
    );
  };
  return {
    items: [...(page?.items ?? []), ...(mine?.items ?? [])],
    fault: first.fault ?? (state.of === page ? state.fault : undefined), loading: first.loading || state.loading, more: cursor !== "", loadMore, reload: first.reload,
  };
}

/** Action is something that is done once at a time. */
export interface Action<A> {
  /** run does it. It resolves to true if it has succeeded and the component is still on the page. */
  run: (arg: A) => Promise<boolean>;
  busy: boolean;
  fault: ApiError | undefined;
  clear: () => void;
}

/**
 * useAction runs work at most once at a time, with one Idempotency-Key for one intention. A second click while it runs
 * does nothing. If a fault has left the result open, the next click sends the same request again. Another argument is
 * another intention.
 */
export function useAction<A = void>(work: (key: string, arg: A) => Promise<void>): Action<A> {
  const [state, setState] = useState<{ busy: boolean; fault?: ApiError }>({ busy: false });
  const running = useRef(false);
  const gone = useRef(false);
  const intention = useRef<{ key: string; of: string } | null>(null);
  useEffect(() => {
    gone.current = false;
    return () => void (gone.current = true);
  }, []);
  const run = async (arg: A): Promise<boolean> => {
    if (running.current) return false;
    running.current = true;
    setState({ busy: true });
    const of = JSON.stringify(arg) ?? "";
    if (intention.current?.of !== of) intention.current = { key: newKey(), of };
    let fault: ApiError | undefined;
    try {
      await work(intention.current.key, arg);
      intention.current = null;
    } catch (cause) {
      fault = asApiError(cause);
    } finally {
      running.current = false;
    }
    if (gone.current) return false;
    setState(fault ? { busy: false, fault } : { busy: false });
    return !fault;
  };
  return { run, busy: state.busy, fault: state.fault, clear: () => setState((s) => ({ busy: s.busy })) };
}

/** useInterval calls fn every so many milliseconds while the page is visible; 0 stops it. */
export function useInterval(fn: () => unknown, every: number): void {
  const latest = useRef(fn);
  latest.current = fn;
  useEffect(() => {
    if (every <= 0) return;
    const timer = setInterval(() => document.hidden || latest.current(), every);
    return () => clearInterval(timer);
  }, [every]);
}

/** asApiError returns an ApiError. Any other fault is a bug of the page, so it is reported and becomes one. */
function asApiError(cause: unknown): ApiError {
  if (cause instanceof ApiError) return cause;
  if (cause instanceof DOMException && cause.name === "AbortError") return new ApiError({ code: "aborted" });
  reportError(cause);
  return new ApiError({ code: "page_fault", message: String(cause) });
}

/** useSeen is the ref of a row that scrolls sideways. It scrolls to the link of the current page when `at` changes. */
export function useSeen(at: unknown) {
  const row = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const el = row.current;
    const link = el?.querySelector('[aria-current="page"]');
    if (!el || !link) return;
    const [frame, box] = [el.getBoundingClientRect(), link.getBoundingClientRect()];
    el.scrollLeft += box.left + box.width / 2 - frame.left - frame.width / 2;
  }, [at]);
  return row;
}
