// The texts of the primitives.

import { texts } from "../i18n.ts";
import { ui } from "../strings/ui.ts";

export const t = texts(ui);
