import { useState } from "preact/hooks";
import { countAgain } from "../approvals/pending.ts";
import { reasonFault, textFault } from "../approvals/said.ts";
import { api, post, seg, type ApiError } from "../api.ts";
import { money, when } from "../format.ts";
import { useAction } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { withdrawals } from "../strings/withdrawals.ts";
import type { WithdrawalRecord } from "../../shared/schemas.ts";
import { Button, Dialog, FaultText, TextField, fieldWords, toast, unsure } from "../ui/index.ts";
import { final, type Act } from "./acts.ts";

const t = texts(withdrawals);

const MAX_REFERENCE = 128; // bytes, as the server has it

interface Props {
  act: Act;
  withdrawal: WithdrawalRecord;
  onClose: () => void;
  onDone: (w: WithdrawalRecord) => void;
}

interface Said {
  reason: string;
  reference: string;
}

/** OrderDialog asks why, names the money, whose it is and who receives it, and does it, or asks for it where it takes two people. */
export function OrderDialog({ act, withdrawal: w, onClose, onDone }: Props) {
  const [reason, setReason] = useState("");
  const [reference, setReference] = useState("");
  const [pressed, setPressed] = useState(false);
  const order = useAction<Said>(async (_, said) => {
    await post(`/withdrawals/${seg(w.withdrawal)}/${act}`, { reason: said.reason, ...(said.reference && { reference: said.reference }) });
    const now = await api<WithdrawalRecord>(`/withdrawals/${seg(w.withdrawal)}`);
    const asked = now.order?.what === act && final(act);
    if (asked) countAgain();
    toast(t(asked ? "asked" : `done_${act}`, { amount: money(w.amount), user: w.user, until: when(now.order?.until) }));
    onDone(now);
  });
  const values = { amount: money(w.amount), user: w.user, receiver: w.receiver || t("provider") };
  const faults = { reason: reasonFault(reason, true), reference: textFault(reference, MAX_REFERENCE, false) };
  const told = (field: "reason" | "reference") => (pressed ? faults[field] : undefined) ?? fieldWords(order.fault, field);
  const submit = async () => {
    setPressed(true);
    if (faults.reason || faults.reference) return;
    if (await order.run({ reason: reason.trim(), reference: reference.trim() })) onClose();
  };
  return (
    <Dialog title={t(`title_${act}`)} onClose={onClose} busy={order.busy}>
      <form noValidate onSubmit={(e) => (e.preventDefault(), void submit())}>
        <div class="words">
          <p><strong>{t(`what_${act}`, values)}</strong></p>
          <p class="mono">{w.withdrawal}</p>
          <p>{t(`note_${act}`, values)}</p>
          {final(act) && <p>{t("second")}</p>}
        </div>
        {act === "paid" && <TextField name="reference" label={t("reference")} hint={t("referenceHint")} value={reference} onInput={(v) => (order.clear(), setReference(v))} fault={told("reference")} />}
        <TextField name="reason" label={t("reason")} hint={t("reasonHint")} value={reason} onInput={(v) => (order.clear(), setReason(v))} fault={told("reason")} />
        <FaultText fault={order.fault} explain={explain} />
        <div class="end">
          <Button onClick={onClose} disabled={order.busy}>{t("cancel")}</Button>
          <Button submit kind={final(act) ? "danger" : "main"} busy={order.busy}>{t(`do_${act}`)}</Button>
        </div>
      </form>
    </Dialog>
  );
}

function explain(fault: ApiError): string | undefined {
  if (fault.fields.length > 0) return "";
  return unsure(fault);
}
