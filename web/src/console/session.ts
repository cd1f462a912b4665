// Who is signed in: the token, for as long as the tab is open, and what it may do.

import { useEffect, useState } from "preact/hooks";
import type { WhoAmI } from "../shared/schemas.ts";

const STORED = "redrain.operator";

/** Who is what is known of a token: an older server tells the role alone. */
export type Who = Pick<WhoAmI, "role"> & Partial<WhoAmI>;

/** Standing is the state of the sign-in. refused: the server did not accept the token. */
export type Standing = { is: "out"; refused: boolean } | { is: "in"; token: string; who: Who };

let token: string | null = recall();
let standing: Standing = { is: "out", refused: false };
const listeners = new Set<() => void>();

/** keptToken is the stored token, before the server has checked it. */
export function keptToken(): string | null {
  return token;
}

/** current is the current standing. */
export function current(): Standing {
  return standing;
}

/** enter signs in with a token that the server has accepted. */
export function enter(accepted: string, who: Who): void {
  token = accepted;
  keep(accepted);
  change({ is: "in", token: accepted, who });
}

/** leave signs out; refused says that the server did not know the token. */
export function leave(refused = false): void {
  token = null;
  keep(null);
  change({ is: "out", refused });
}

/** useStanding is the current standing; a component that uses it is redrawn when it changes. */
export function useStanding(): Standing {
  const [, redraw] = useState({});
  useEffect(() => {
    const changed = () => redraw({});
    listeners.add(changed);
    return () => void listeners.delete(changed);
  }, []);
  return standing;
}

/** mayAct tells whether the token may change anything. A viewer's may not, so their page has no such buttons. */
export function mayAct(): boolean {
  return standing.is === "in" && standing.who.role === "operator";
}

function change(to: Standing): void {
  standing = to;
  for (const fn of [...listeners]) fn();
}

// Storage may be forbidden: then the session ends with a reload.
function recall(): string | null {
  try {
    return sessionStorage.getItem(STORED);
  } catch {
    return null;
  }
}

function keep(value: string | null): void {
  try {
    if (value) sessionStorage.setItem(STORED, value);
    else sessionStorage.removeItem(STORED);
  } catch {
    // see above
  }
}
