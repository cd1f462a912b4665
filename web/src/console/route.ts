// The address: every view has one, after the #, so that a reload, a bookmark and the back button work.

import { useEffect, useState } from "preact/hooks";

/** A Route is the address in parts: #/campaigns/c1/claims?user=u1 is {parts: ["campaigns","c1","claims"], query: user=u1}. */
export interface Route {
  parts: string[];
  query: URLSearchParams;
}

/** parse reads an address's hash. An empty one means the campaigns. */
export function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").filter(Boolean).map(decode);
  return { parts: parts.length > 0 ? parts : ["campaigns"], query: new URLSearchParams(query) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a truncated address
  }
}

/** to is the address of a view: to("campaigns", id, "claims"). The last part may be an object, the query. */
export function to(...parts: (string | Record<string, string>)[]): string {
  let query = "";
  const path = parts.flatMap((p) => {
    if (typeof p === "string") return [encodeURIComponent(p)];
    query = new URLSearchParams(p).toString();
    return [];
  });
  return `#/${path.join("/")}${query && `?${query}`}`;
}

/** go changes the address, and with it the view. */
export function go(...parts: (string | Record<string, string>)[]): void {
  location.hash = to(...parts);
}

/** topOfNewPages scrolls a new page to its top. After the back button, a page keeps its scroll position. */
export function topOfNewPages(): void {
  const page = () => parse(location.hash).parts.slice(0, 2).join("/");
  let shown = page();
  history.replaceState("seen", "");
  addEventListener("hashchange", () => {
    const fresh = history.state !== "seen";
    if (fresh && page() !== shown) scrollTo(0, 0);
    shown = page();
    if (fresh) history.replaceState("seen", "");
  });
}

/** useRoute is the current address; a component that uses it is redrawn when it changes. */
export function useRoute(): Route {
  const [route, set] = useState(() => parse(location.hash));
  useEffect(() => {
    const changed = () => set(parse(location.hash));
    addEventListener("hashchange", changed);
    changed(); // it may have changed between the drawing and now
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}
