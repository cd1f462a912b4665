import type { ComponentChildren } from "preact";
import { t } from "./strings.ts";

/** Empty is shown where a list is empty, and says what to do. */
export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="empty">{children}</div>;
}

/** Loading is shown while something loads. It appears after a moment only, so that nothing flickers. */
export function Loading() {
  return <p class="loading soft" role="status">{t("loading")}</p>;
}
