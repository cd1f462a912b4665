import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { t } from "./strings.ts";

/** Advanced folds fields that few people need. It unfolds when `open` becomes true, and never folds by itself. */
export function Advanced({ open, children }: { open: boolean; children: ComponentChildren }) {
  const ref = useRef<HTMLDetailsElement>(null);
  useLayoutEffect(() => {
    if (open && ref.current) ref.current.open = true;
  }, [open]);
  return (
    <details ref={ref} class="advanced">
      <summary>{t("advanced")}</summary>
      <div class="fields">{children}</div>
    </details>
  );
}
