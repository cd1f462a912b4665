import { texts } from "../i18n.ts";
import { lists } from "../strings/lists.ts";
import type { PlayerList } from "../../shared/schemas.ts";
import { Badge } from "../ui/index.ts";

const t = texts(lists);

/** Purpose is what a list is for, as a badge. */
export function Purpose({ of: { purpose } }: { of: PlayerList }) {
  return <Badge tone={purpose === "invite" ? "good" : "bad"}>{t(`purpose_${purpose}`)}</Badge>;
}
