import type { ApiError } from "../api.ts";
import { texts } from "../i18n.ts";
import { faults } from "../strings/faults.ts";
import { Button } from "./button.tsx";
import { said } from "./said.ts";
import { t } from "./strings.ts";

const f = texts(faults);

// Where fields are wrong, they say it better than the whole.
const whatOf = (fault: ApiError) => fault.fields.map((one) => `${one.field}: ${said(one.message)}`).join("; ") || said(fault.message);

/** faultWords is a fault in the reader's language, with what to do. */
export function faultWords(fault: ApiError): string {
  if (fault.status === 0) return fault.code === "page_fault" ? t("fault_page", { what: fault.message }) : t("fault_unreachable");
  if (f.has(fault.code)) return f(fault.code, { what: whatOf(fault) });
  if (fault.status === 403) return f("forbidden");
  if (fault.status >= 500) return f("unavailable", { what: fault.message });
  return said(fault.message);
}

/** fieldWords is what the server has said of a field. */
export function fieldWords(fault: ApiError | undefined, field: string): string | undefined {
  const one = fault?.fields.find((f) => f.field === field);
  return one && said(one.message);
}

/** unsure is for what changes something: whether it was done is not known. A refusal that has words of its own has changed nothing. */
export function unsure({ code, status }: ApiError): string | undefined {
  return ["unreachable", "internal", "unavailable"].includes(code) || (status >= 500 && !f.has(code)) ? t("fault_unsure") : undefined;
}

export interface FaultTextProps {
  fault: ApiError | undefined;
  /** explain gives the words for a fault, or undefined for the usual ones. */
  explain?: ((fault: ApiError) => string | undefined) | undefined;
}

/** FaultText says what went wrong; a screen reader announces it. */
export function FaultText({ fault, explain }: FaultTextProps) {
  return <p class="faulttext" role="alert">{fault && (explain?.(fault) ?? faultWords(fault))}</p>;
}

/** FaultBox is shown in place of something that could not be loaded. */
export function FaultBox({ fault, retry }: { fault: ApiError; retry: () => void }) {
  return (
    <div class="faultbox" role="alert">
      <p>{faultWords(fault)}</p>
      <Button onClick={retry}>{t("retry")}</Button>
    </div>
  );
}
