import { api } from "../api.ts";
import { useLoad } from "../hooks.ts";
import { home, isLocal } from "../../shared/join.ts";
import type { Lobby } from "../../shared/schemas.ts";

/**
 * useHome is this server's address for phones, if it is known. A console that was opened as localhost asks the server
 * for it.
 */
export function useHome(): string {
  const page = new URL(location.href);
  const lan = useLoad(async (signal) => (isLocal(page.hostname) ? (await api<Lobby>("/lobby", { signal })).join : undefined), []).data;
  return home(page, lan ?? null) ?? page.origin;
}
