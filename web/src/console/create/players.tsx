import { useId } from "preact/hooks";
import { api, type Page } from "../api.ts";
import { useLoad } from "../hooks.ts";
import type { PlayerList } from "../../shared/schemas.ts";
import { TextField } from "../ui/index.ts";
import { t } from "./words.ts";

interface Props {
  value: string;
  onInput: (value: string) => void;
  fault: string | undefined;
}

/** PlayersField asks for the list of those who may take part, and offers those that there are. */
export function PlayersField({ value, onInput, fault }: Props) {
  const id = useId();
  // Suggestions only: without them a name can be typed as well.
  const known = useLoad((signal) => api<Page<PlayerList>>("/lists?limit=500", { signal }), []);
  const invites = known.data?.items.filter((l) => l.purpose === "invite") ?? [];
  const chosen = invites.find((l) => l.list === value.trim());
  return (
    <div>
      <TextField name="players" label={t("players")} hint={chosen ? t("playersOn", { n: chosen.members }) : t("playersHint")} value={value} fault={fault} onInput={onInput} list={id} />
      <datalist id={id}>{invites.map((l) => <option key={l.list} value={l.list}>{t("playersOn", { n: l.members })}</option>)}</datalist>
    </div>
  );
}
