import { texts } from "../i18n.ts";
import { payouts } from "../strings/payouts.ts";

const t = texts(payouts);

/** age formats a wait in ms by its largest unit. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return t("seconds", { n: seconds });
  if (seconds < 3_600) return t("minutes", { n: Math.floor(seconds / 60) });
  if (seconds < 86_400) return t("hours", { n: Math.floor(seconds / 3_600) });
  return t("days", { n: Math.floor(seconds / 86_400) });
}
