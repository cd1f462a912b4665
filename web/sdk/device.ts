// A browser's signals about its network and its visibility. Node and workers have fewer of them.

/** Signs are the client's callbacks. */
interface Signs {
  /** No network, or no page: the line is of no use now. */
  offline: () => void;
  online: () => void;
  /** The page is seen again. */
  visible: () => void;
}

/** watchDevice listens, and returns the function that stops it. */
export function watchDevice(signs: Signs): () => void {
  const undo: (() => void)[] = [];
  // Taken away one by one: a signal for listeners is newer than some phones.
  const listen = (target: EventTarget, type: string, call: () => void): void => {
    target.addEventListener(type, call);
    undo.push(() => target.removeEventListener(type, call));
  };
  if (typeof addEventListener === "function") {
    listen(globalThis, "offline", signs.offline);
    listen(globalThis, "online", signs.online);
    // A page that the browser keeps for its back button would keep the line too: a player who has gone, counted as online.
    listen(globalThis, "pagehide", signs.offline);
  }
  if (typeof document !== "undefined") listen(document, "visibilitychange", () => document.hidden || signs.visible());
  return () => undo.splice(0).forEach((take) => take());
}
