import { api } from "../api.ts";
import { useInterval, useLoad } from "../hooks.ts";
import type { Proved } from "../../shared/schemas.ts";
import { Time } from "../ui/index.ts";
import { t } from "./words.ts";

/** ProvedLast says when the servers have proved the books by themselves, and whether that is too long ago. */
export function ProvedLast() {
  const loaded = useLoad((signal) => api<Proved | null>("/reconciliation/proved", { signal }), []);
  useInterval(loaded.reload, 30_000);
  const p = loaded.data;
  if (!p) return null;
  const at = p.everything.proved_at;
  return (
    <p class={p.stale ? "bad" : "soft"}>
      {at === 0 ? t("neverProved") : <>{t("provedLast")} <Time ms={at} /></>}
      {p.oldest !== 0 && <> · {t("provedOldest")} <Time ms={p.oldest} /></>}
      {p.stale && <> · {t("provedStale")}</>}
    </p>
  );
}
