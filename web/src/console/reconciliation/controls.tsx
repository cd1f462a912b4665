import { useState } from "preact/hooks";
import { useInterval } from "../hooks.ts";
import { Button, FaultText, Time } from "../ui/index.ts";
import type { ProofProgress } from "../../shared/schemas.ts";
import type { Check } from "./check.ts";
import { t } from "./words.ts";

/** Controls start a check, tell how long it has been running, and stop it. */
export function Controls({ check, when }: { check: Check<unknown>; when: number | null }) {
  return (
    <div class="row">
      {check.since === null && when !== null && <span class="soft">{t("computed", { at: "" })}<Time ms={when} /></span>}
      {check.since === null ? <Button onClick={check.run} {...(check.result ? {} : { kind: "main" })}>{check.result || check.fault ? t("again") : t("check")}</Button>
        : <Running since={check.since} progress={check.progress} stop={check.stop} />}
    </div>
  );
}

function Running({ since, progress, stop }: { since: number; progress: ProofProgress | null; stop: () => void }) {
  const [now, setNow] = useState(performance.now());
  useInterval(() => setNow(performance.now()), 1_000);
  return (
    <>
      <progress aria-label={t("title")} {...(progress?.of ? { value: progress.done, max: progress.of } : {})} />
      <span class="soft num">{t("checking", { seconds: Math.max(0, Math.floor((now - since) / 1_000)) })}</span>
      {progress && progress.of > 0 && <span class="soft num">{t("readRows", { done: progress.done, of: progress.of })}</span>}
      <Button onClick={stop}>{t("stop")}</Button>
    </>
  );
}

/** Outcome says aloud what has become of a check; the words of a result are children. */
export function Outcome({ check, good, children }: { check: Check<unknown>; good: boolean; children: string }) {
  return (
    <>
      <FaultText fault={check.fault} />
      <p class={`verdict ${check.result ? (good ? "good" : "bad") : ""}`} role="status">
        {check.result ? <><span aria-hidden="true">{good ? "✓" : "✗"}</span> {children}</> : check.stopped ? t("stopped") : ""}
      </p>
    </>
  );
}
