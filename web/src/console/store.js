// The operator's token and calls made with it.

import { ApiError, request, send } from "../shared/api.ts";
import { toast } from "./dom.js";

const STORED = "redrain.operator";
let token = sessionStorage.getItem(STORED);
let onRefused = () => {};

export const signedIn = () => Boolean(token);

// signIn keeps the token until the tab is closed; null signs out.
export function signIn(value) {
  token = value;
  if (value) sessionStorage.setItem(STORED, value);
  else sessionStorage.removeItem(STORED);
}

// whenRefused is called when the server no longer knows the token.
export function whenRefused(fn) {
  onRefused = fn;
}

export async function api(path, options = {}) {
  try {
    return await (options.raw ? send : request)(path, { token, ...options });
  } catch (fault) {
    if (fault.status === 401) onRefused();
    throw fault;
  }
}

// attempt does something and says it when it fails. It answers undefined then.
export async function attempt(work) {
  try {
    return await work();
  } catch (fault) {
    if (!(fault instanceof ApiError)) throw fault;
    toast(fault.status === 403 ? "This token may only look." : fault.message, "bad");
    return undefined;
  }
}
