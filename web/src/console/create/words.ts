// Texts of the form, and faults in words.

import { money } from "../format.ts";
import { texts } from "../i18n.ts";
import { create, faults } from "../strings/create.ts";
import type { Fault } from "./validate.ts";

export const t = texts(create);

const f = texts(faults);

/** words is a fault in the reader's language. Values whose names begin with m and a capital are minor units. */
export function words(fault: Fault): string {
  const values = Object.entries(fault.values ?? {}).map(([name, value]) => [name, /^m[A-Z]/.test(name) && typeof value === "number" ? money(value) : value] as const);
  return f(fault.key, Object.fromEntries(values));
}
