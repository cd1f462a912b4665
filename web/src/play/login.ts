// Logins with an account elsewhere: in WeChat without a press, in other browsers by a link.

import type { Lobby } from "../shared/schemas.ts";
import { inWeChat } from "../shared/wechat.ts";
import type { Ended } from "./problem.ts";

const TRIED = "redrain.login"; // in sessionStorage: time of the last login without a press, Unix ms
const AGAIN = 60_000; // ms until the next one: a failed login must not repeat itself

/** Way is a login that the server has. */
export type Way = NonNullable<Lobby["logins"]>[number];

/** wayOf returns the login for this browser; null if there is none. WeChat's works in its own browser only. */
export function wayOf(logins: readonly Way[] = []): Way | null {
  if (inWeChat && logins.includes("wechat")) return "wechat";
  return logins.includes("oidc") ? "oidc" : null;
}

/** addressOf returns the address that begins a login and returns to this page. With profile it asks for the nickname. */
export function addressOf(way: Way, profile = false, here = location.href): string {
  const query = new URLSearchParams({ return: here.replace(/#.*/s, "") });
  if (profile && way === "wechat") query.set("profile", "true");
  return `/api/v1/login/${way}?${query}`;
}

/** begin leaves the page for a login without a press, if this is WeChat. It reports whether it did. */
export function begin(logins: readonly Way[] = []): boolean {
  if (wayOf(logins) !== "wechat") return false;
  try {
    if (Date.now() - Number(sessionStorage.getItem(TRIED)) < AGAIN) return false;
    sessionStorage.setItem(TRIED, String(Date.now()));
  } catch {
    return false; // without storage a failed login would repeat itself
  }
  location.replace(addressOf("wechat"));
  return true;
}

/** failed is the problem of a failed login, by the code of the error. */
export function failed(code: string): Ended {
  if (code === "banned") return { title: "ended_away", hint: "ended_away_hint" };
  if (code === "login_denied") return { title: "login_denied", hint: "login_denied_hint" };
  if (code === "login_snapshot") return { title: "login_snapshot", hint: "login_snapshot_hint" };
  return { title: "login_failed", hint: "login_failed_hint" };
}
