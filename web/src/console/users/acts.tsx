import { post, seg } from "../api.ts";
import { texts } from "../i18n.ts";
import { players } from "../strings/players.ts";
import type { Player } from "../../shared/schemas.ts";
import { Confirm, toast } from "../ui/index.ts";

const t = texts(players);

/** Act is what an operator does about a player. */
export type Act = "ban" | "unban" | "disconnect";

interface Props {
  act: Act;
  user: string;
  onClose: () => void;
  onDone: (player: Player) => void;
}

/** ConfirmAct says what an act means for the player, asks why, and does it. */
export function ConfirmAct({ act, user, onClose, onDone }: Props) {
  return (
    <Confirm title={t(`${act}Title`, { user })} yes={t(`${act}Yes`)} danger={act !== "unban"} ask={t("why")} onClose={onClose}
      run={async (_, reason) => {
        const after = await post<Player>(`/users/${seg(user)}/${act}`, { reason });
        toast(t(`${act}Done`, { user }));
        onDone(after);
      }}>
      <p>{t(`${act}Words`)}</p>
    </Confirm>
  );
}
