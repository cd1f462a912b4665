import { texts } from "../i18n.ts";
import { risk } from "../strings/risk.ts";
import type { RiskReason } from "../../shared/schemas.ts";
import { Badge, type Tone } from "../ui/index.ts";

const t = texts(risk);

/** ruleName is a rule in the reader's language; another system's has its own name. */
export function ruleName(rule: string): string {
  const key = `rule_${rule}`;
  return t.has(key) ? t(key) : rule;
}

/** Reasons are what speaks against a player: the rule, what it weighs, and its sentence as the server has written it. */
export function Reasons({ of }: { of: readonly RiskReason[] }) {
  return (
    <ul class="reasons" aria-label={t("why")}>
      {of.map((r) => <li key={`${r.rule} ${r.sentence}`}><b>{ruleName(r.rule)}</b>{r.score > 0 && <span class="soft num"> +{r.score}</span>}<span class="soft" lang="en"> {r.sentence}</span></li>)}
    </ul>
  );
}

const TONES: Record<string, Tone> = { allow: "good", hold: "warn", deny: "bad" };

/** Verdict is what a verdict says is to happen, with its score. */
export function Verdict({ verdict, score }: { verdict: string; score: number }) {
  const key = `verdict_${verdict}`;
  return <Badge tone={TONES[verdict] ?? "none"}>{t.has(key) ? t(key) : verdict}{score > 0 && ` · ${score}`}</Badge>;
}
