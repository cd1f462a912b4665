import { api } from "../api.ts";
import { useLoad } from "../hooks.ts";
import { home, isLocal } from "../../shared/join.ts";
import type { Lobby } from "../../shared/schemas.ts";

/** useHome is the address of this server for phones, as far as one is known: a console that was opened as localhost asks for it. */
export function useHome(): string {
  const page = new URL(location.href);
  const lan = useLoad(async (signal) => (isLocal(page.hostname) ? (await api<Lobby>("/lobby", { signal })).join : undefined), []).data;
  return home(page, lan ?? null) ?? page.origin;
}
