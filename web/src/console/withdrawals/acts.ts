import type { WithdrawalRecord } from "../../shared/schemas.ts";

/** Act is a cashier's act on a withdrawal; paid and back take two people. */
export type Act = "hold" | "release" | "paid" | "back";

/** acts are the allowed acts on a withdrawal: the server refuses all others. */
export function acts(w: WithdrawalRecord): Act[] {
  if (w.dead) return ["paid", "back"];
  if (w.stage === "requested") return ["hold"];
  return w.stage === "held" ? ["release", "back"] : [];
}

/** final reports whether an act ends a withdrawal. If that takes two people, the first one orders it. */
export function final(act: Act): boolean {
  return act === "paid" || act === "back";
}

/** actorName is a line's actor without its kind: "operator:ann" is "ann". */
export function actorName(actor: string): string {
  return actor.slice(actor.indexOf(":") + 1);
}
