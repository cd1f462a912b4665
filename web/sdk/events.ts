// Listeners by type of event, each protected from the others.

import type { RainClientEvents } from "./redrain.d.ts";

type Type = keyof RainClientEvents;
type Listener<K extends Type> = (event: RainClientEvents[K]) => void;

/** Emitter calls the listeners of an event in the order in which they came. */
export class Emitter {
  #listeners: { [K in Type]?: Set<{ call: Listener<K> }> } = {};

  /** on adds a listener and returns the function that removes it. A listener added twice is called twice, and removed
   * singly. */
  on<K extends Type>(type: K, call: Listener<K>, signal?: AbortSignal): () => void {
    if (signal?.aborted) return () => {};
    const all: Set<{ call: Listener<K> }> = (this.#listeners[type] ??= new Set<never>());
    const entry = { call };
    const off = (): void => {
      all.delete(entry);
      signal?.removeEventListener("abort", off);
    };
    all.add(entry);
    signal?.addEventListener("abort", off, { once: true });
    return off;
  }

  /** emit calls the listeners. An exception of one is reported, and the others are called all the same. */
  emit<K extends Type>(type: K, event: RainClientEvents[K]): void {
    const all: Set<{ call: Listener<K> }> | undefined = this.#listeners[type];
    for (const entry of [...(all ?? [])]) {
      if (!all?.has(entry)) continue; // taken away by one before it
      try {
        entry.call(event);
      } catch (fault) {
        report(fault);
      }
    }
  }
}

/** report hands a fault of the page's own code to where uncaught errors go. */
export function report(fault: unknown): void {
  if (typeof reportError === "function") reportError(fault);
  else console.error(fault); // Node
}
