import { useState } from "preact/hooks";
import { post, type ApiError } from "../api.ts";
import { useAction } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { lists } from "../strings/lists.ts";
import type { PlayerList } from "../../shared/schemas.ts";
import { Button, Dialog, FaultText, SelectField, TextField, toast } from "../ui/index.ts";

const t = texts(lists);

type Kind = "invite" | "deny" | "addresses";
const KINDS: readonly Kind[] = ["invite", "deny", "addresses"];

const MAX_NAME_BYTES = 64; // the other rules of a name, which hardly anybody breaks, are the server's (rain.CheckList)

interface Props {
  onClose: () => void;
  onDone: (list: PlayerList) => void;
}

/** CreateDialog makes an empty list. */
export function CreateDialog({ onClose, onDone }: Props) {
  const [name, setName] = useState("");
  const [kind, setKind] = useState<Kind>("invite");
  const [pressed, setPressed] = useState(false);
  const list = name.trim();
  const create = useAction<{ list: string; of: string; purpose: string }>(async (key, body) => {
    const made = await post<PlayerList>("/lists", body, key);
    toast(t("created", { list: made.list }));
    onDone(made);
  });
  const good = list !== "" && new TextEncoder().encode(list).length <= MAX_NAME_BYTES;
  const fault = !good && (pressed || list !== "") ? t("nameFault") : undefined;
  const submit = async () => {
    setPressed(true);
    const purpose = kind === "invite" ? "invite" : "deny";
    if (good && (await create.run({ list, of: kind === "addresses" ? "addresses" : "players", purpose }))) onClose();
  };
  return (
    <Dialog title={t("createTitle")} onClose={onClose} busy={create.busy}>
      <form noValidate onSubmit={(e) => (e.preventDefault(), void submit())}>
        <div class="fields">
          <TextField name="list" label={t("name")} value={name} fault={fault} onInput={(v) => (create.clear(), setName(v))} />
          <SelectField name="kind" label={t("purpose")} hint={t(`hint_${kind}`)} value={kind} onChange={setKind} options={KINDS.map((value) => ({ value, label: t(`kind_${value}`) }))} />
        </div>
        <FaultText fault={create.fault} explain={explain} />
        <div class="end">
          <Button onClick={onClose} disabled={create.busy}>{t("cancel")}</Button>
          <Button submit kind="main" busy={create.busy}>{t("doCreate")}</Button>
        </div>
      </form>
    </Dialog>
  );
}

function explain(fault: ApiError): string | undefined {
  return fault.fields.some((f) => f.field === "list") ? t("nameFault") : undefined;
}
