// What a browser knows of its network and of whether somebody is looking. Elsewhere (Node, workers) there is less of it.

/** Signs are what the client wants to be told. */
interface Signs {
  /** No network, or no page: the line is of no use now. */
  offline: () => void;
  online: () => void;
  /** The page is seen again. */
  visible: () => void;
}

/** watchDevice listens, and answers with what ends it. */
export function watchDevice(signs: Signs): () => void {
  const done = new AbortController();
  const { signal } = done;
  if (typeof addEventListener === "function") {
    addEventListener("offline", () => signs.offline(), { signal });
    addEventListener("online", () => signs.online(), { signal });
    // A page that the browser keeps for its back button would keep the line too: a player who has gone, counted as online.
    addEventListener("pagehide", () => signs.offline(), { signal });
  }
  if (typeof document !== "undefined") {
    document.addEventListener("visibilitychange", () => document.hidden || signs.visible(), { signal });
  }
  return () => done.abort();
}
