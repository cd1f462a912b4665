import { money, when } from "../format.ts";
import { texts } from "../i18n.ts";
import { approvals } from "../strings/approvals.ts";
import type { Approval } from "../../shared/schemas.ts";
import { toast } from "../ui/index.ts";
import { countAgain } from "./pending.ts";

const t = texts(approvals);
const MAX_REASON = 400; // bytes, as the server has it

/** samePerson reports whether two names are one person's, by the server's rule. */
export function samePerson(a: string, b: string | undefined): boolean {
  return a.trim().toLowerCase() === b?.trim().toLowerCase();
}

/** reasonFault returns the fault of a reason in words. */
export function reasonFault(text: string, required: boolean): string | undefined {
  return textFault(text, MAX_REASON, required);
}

/** textFault returns the fault of a text with a limit in bytes, in words. */
export function textFault(text: string, most: number, required: boolean): string | undefined {
  const said = text.trim();
  if (required && said === "") return t("required");
  return new TextEncoder().encode(said).length > most ? t("tooLong", { most }) : undefined;
}

/** waits reports whether an answer is an order that waits for a second person, and shows that. */
export function waits<T extends object>(answer: T | Approval): answer is Approval {
  if (!("approval" in answer)) return false;
  toast(t("askedFor", { amount: money(answer.amount), until: when(answer.expires_at) }));
  countAgain();
  return true;
}
