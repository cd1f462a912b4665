import { texts } from "../i18n.ts";
import { lists } from "../strings/lists.ts";
import type { PlayerList } from "../../shared/schemas.ts";
import { Badge } from "../ui/index.ts";

const t = texts(lists);
const TONES = { invite: "good", deny: "bad", leaving: "warn" } as const;

/** Purpose is what a list is for, as a badge. */
export function Purpose({ of: { purpose } }: { of: PlayerList }) {
  return <Badge tone={TONES[purpose]}>{t(`purpose_${purpose}`)}</Badge>;
}
