// The signed-in operator: the token, while the tab is open, and the rights.

import { useEffect, useState } from "preact/hooks";
import type { WhoAmI } from "../shared/schemas.ts";

const STORED = "redrain.operator";

/** Who describes a token; an older server sends the role only. */
export type Who = Pick<WhoAmI, "role"> & Partial<WhoAmI>;

/** Right is a permission, by the server's names in /whoami. */
export type Right = "campaigns" | "deposits" | "withdrawals" | "letters" | "approvals" | "players";

/**
 * Standing is the state of the sign-in. lapsed: the server refuses the token, and the operator has to sign in again;
 * the page keeps its state and the typed text meanwhile.
 */
export type Standing = { is: "out" } | { is: "in"; token: string; who: Who; lapsed: boolean };

let token: string | null = recall();
let standing: Standing = { is: "out" };
let returns = 0; // number of sign-ins
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
  returns++;
  change({ is: "in", token: accepted, who, lapsed: false });
}

/** leave signs out. */
export function leave(): void {
  token = null;
  keep(null);
  change({ is: "out" });
}

/** lapse ends the token and keeps the page. */
export function lapse(): void {
  if (standing.is !== "in") return;
  token = null;
  keep(null);
  change({ ...standing, lapsed: true });
}

/** useReturns returns a number that rises at each new sign-in, so that failed requests are repeated. */
export function useReturns(): number {
  useStanding();
  return returns;
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

const RIGHTS: readonly Right[] = ["campaigns", "deposits", "withdrawals", "letters", "approvals", "players"];

/** may reports whether the signed-in operator has a right. Older servers send no rights, and have only operators and
 * viewers, and no orders. */
export function may(right: Right): boolean {
  if (standing.is !== "in") return false;
  const { role, rights } = standing.who;
  return rights ? rights.includes(right) : role === "operator" && right !== "approvals";
}

/** mayAct reports whether the signed-in operator may change anything. A viewer may not, so a viewer's page has no such
 * buttons. */
export function mayAct(): boolean {
  return RIGHTS.some(may);
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
