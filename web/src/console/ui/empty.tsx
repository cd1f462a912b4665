import type { ComponentChildren } from "preact";
import { t } from "./strings.ts";

/** Empty stands where there is nothing yet, and says what to do. */
export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="empty">{children}</div>;
}

/** Loading stands where something is on its way. It shows only after a moment, so that nothing flickers. */
export function Loading() {
  return <p class="loading soft" role="status">{t("loading")}</p>;
}
