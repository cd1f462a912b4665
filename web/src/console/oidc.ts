// Signing in with the organisation's own accounts: OpenID Connect, authorization code with PKCE. The result is the
// provider's ID token, which the server accepts like any other token.

import { ApiError, request } from "../shared/api.ts";
import type { SignInConfig } from "../shared/schemas.ts";

const STORED = "redrain.oidc"; // the sign-in that this tab has begun, until the provider's redirect
const CHANNEL = "redrain.oidc"; // for the result of a sign-in in another window
const AGAIN = "again."; // begins the state of a sign-in in a window of its own

/** Provider is an identity provider. */
export type Provider = NonNullable<SignInConfig["oidc"]>;

/** Begun is a sign-in in progress. */
interface Begun {
  state: string;
  nonce: string;
  verifier: string;
  place: string; // the address' hash, to come back to
}

/** Came holds the parameters of the provider's redirect. */
interface Came {
  state: string;
  code: string;
  error: string;
}

/** provider asks the server for the provider; undefined if there are only tokens. */
export async function provider(signal: AbortSignal): Promise<Provider | undefined> {
  try {
    return (await request<SignInConfig>("/auth/config", { signal })).oidc;
  } catch (fault) {
    if (fault instanceof ApiError && fault.status === 404) return undefined; // an older server
    throw fault;
  }
}

/** usable reports whether a sign-in can begin: the provider answers, and the page came over https or from this machine. */
export function usable(p: Provider): boolean {
  return Boolean(p.authorization_endpoint && p.token_endpoint) && isSecureContext;
}

/** redirect leaves this page for the provider's. */
export async function redirect(p: Provider): Promise<void> {
  const begun = begin("");
  sessionStorage.setItem(STORED, JSON.stringify(begun));
  location.assign(await addressOf(p, begun));
}

/**
 * inWindow signs in without leaving this page, which keeps what was typed: the provider's page opens in another window,
 * which passes the result to this one. It is called for a click, as browsers open a window only then.
 */
export async function inWindow(p: Provider, signal: AbortSignal): Promise<string> {
  const begun = begin(AGAIN);
  const opened = window.open("about:blank", "_blank");
  if (!opened) throw new ApiError({ code: "window_blocked" });
  const channel = new BroadcastChannel(CHANNEL);
  try {
    const back = new Promise<Came>((resolve, reject) => {
      channel.onmessage = ({ data }: MessageEvent<Came>) => data.state === begun.state && resolve(data);
      signal.addEventListener("abort", () => reject(new ApiError({ code: "aborted" })), { once: true });
    });
    opened.location.href = await addressOf(p, begun);
    return await exchange(p, begun, await back);
  } finally {
    channel.close();
  }
}

/** Back is the result of the provider's redirect: a token for this page, or for another window, which has received it. */
export type Back = { token: string } | "told";

/** back completes redirect or inWindow; undefined without a redirect from the provider. */
export async function back(): Promise<Back | undefined> {
  const came = takeAnswer();
  if (!came) return undefined;
  if (came.state.startsWith(AGAIN)) {
    const channel = new BroadcastChannel(CHANNEL);
    channel.postMessage(came);
    channel.close();
    return "told";
  }
  const stored = sessionStorage.getItem(STORED);
  sessionStorage.removeItem(STORED);
  const begun = stored === null ? undefined : (JSON.parse(stored) as Begun);
  if (begun?.state !== came.state) throw new ApiError({ code: "sign_in_strange" }); // not begun in this browser
  if (begun.place) location.hash = begun.place;
  const p = await provider(AbortSignal.timeout(10_000));
  if (!p) throw new ApiError({ code: "sign_in_strange" });
  return { token: await exchange(p, begun, came) };
}

/** takeAnswer removes the provider's answer from the address, before the address can be shared. */
function takeAnswer(): Came | undefined {
  const url = new URL(location.href);
  const [state, code, error] = ["state", "code", "error"].map((name) => url.searchParams.get(name) ?? "") as [string, string, string];
  if (!state || !(code || error)) return undefined;
  url.search = "";
  history.replaceState(null, "", url);
  return { state, code, error };
}

function begin(prefix: string): Begun {
  return { state: prefix + random(), nonce: random(), verifier: random(), place: location.hash };
}

const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

const home = () => `${location.origin}/console`;

async function addressOf(p: Provider, begun: Begun): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(begun.verifier));
  const url = new URL(p.authorization_endpoint ?? "");
  for (const [name, value] of Object.entries({
    response_type: "code", client_id: p.client_id, redirect_uri: home(), scope: p.scope, state: begun.state, nonce: begun.nonce,
    code_challenge: base64url(new Uint8Array(hash)), code_challenge_method: "S256",
  })) url.searchParams.set(name, value);
  return url.href;
}

/** exchange is the ID token for a code. The server verifies it; the page checks that it answers this sign-in. */
async function exchange(p: Provider, begun: Begun, came: Came): Promise<string> {
  if (!came.code) throw new ApiError({ code: "sign_in_refused", message: came.error });
  let answer: { id_token?: string; error?: string; error_description?: string };
  try {
    const response = await fetch(p.token_endpoint ?? "", {
      method: "POST", cache: "no-store", credentials: "omit",
      body: new URLSearchParams({ grant_type: "authorization_code", code: came.code, redirect_uri: home(), client_id: p.client_id, code_verifier: begun.verifier }),
    });
    answer = (await response.json()) as typeof answer;
  } catch (cause) {
    throw new ApiError({ code: "sign_in_away", message: String(cause) });
  }
  if (!answer.id_token) throw new ApiError({ code: "sign_in_refused", message: answer.error_description ?? answer.error ?? "" });
  if (nonceOf(answer.id_token) !== begun.nonce) throw new ApiError({ code: "sign_in_strange" });
  return answer.id_token;
}

function nonceOf(token: string): unknown {
  try {
    const payload = (token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/");
    return (JSON.parse(atob(payload)) as { nonce?: unknown }).nonce;
  } catch {
    return undefined;
  }
}
