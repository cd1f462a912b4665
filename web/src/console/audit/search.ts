import type { AuditRecord } from "../../shared/schemas.ts";

/** matches reports whether a record contains every word of a search, ignoring case. */
export function matches(record: AuditRecord, search: string): boolean {
  const text = [record.actor, record.role, record.action, record.target, record.request, JSON.stringify(record.detail)].join(" ").toLowerCase();
  return search.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/**
 * placeOf returns the page of a record's target, as parts of an address; null if there is none. Targets are "kind:id".
 */
export function placeOf(target: string): string[] | null {
  const colon = target.indexOf(":");
  const [kind, id] = [target.slice(0, colon), target.slice(colon + 1)];
  if (colon < 1 || id === "") return null;
  if (kind === "campaign") return ["campaigns", id];
  if (kind === "approval") return ["approvals"];
  if (kind === "withdrawal") return ["withdrawals", id];
  if (kind === "user") return ["users", id];
  return kind === "sponsor" ? ["sponsors"] : null;
}
