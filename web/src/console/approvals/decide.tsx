import { useState } from "preact/hooks";
import { api, post, seg } from "../api.ts";
import { money, when } from "../format.ts";
import { useAction, useLoad } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { approvals } from "../strings/approvals.ts";
import { withdrawals } from "../strings/withdrawals.ts";
import type { Approval, WithdrawalRecord } from "../../shared/schemas.ts";
import { Button, Dialog, FaultBox, FaultText, Loading, TextField, toast, unsure } from "../ui/index.ts";
import { countAgain } from "./pending.ts";
import { reasonFault } from "./said.ts";

const t = texts(approvals);
const w = texts(withdrawals);

/** Decision is what one can do with an order. */
export type Decision = "confirm" | "reject";

interface Props {
  approval: Approval;
  decision: Decision;
  onClose: () => void;
  onDone: () => void;
}

/** DecideDialog names what was asked for, the money, and who receives it, and confirms or rejects it. */
export function DecideDialog({ approval: a, decision, onClose, onDone }: Props) {
  const [reason, setReason] = useState("");
  const [pressed, setPressed] = useState(false);
  const fault = reasonFault(reason, decision === "reject");
  const decide = useAction<string>(async (_, why) => {
    await post<Approval>(`/approvals/${seg(a.approval)}/${decision}`, { reason: why });
    toast(t(decision === "confirm" ? "confirmed" : "rejected", { what: actionWords(a) + (a.action === "provider" ? "" : ` · ${money(a.amount)}`) }));
    countAgain();
    onDone();
  });
  const submit = async () => {
    setPressed(true);
    if (!fault && (await decide.run(reason.trim()))) onClose();
  };
  return (
    <Dialog title={t(decision === "confirm" ? "confirmTitle" : "rejectTitle")} onClose={onClose} busy={decide.busy}>
      <form noValidate onSubmit={(e) => (e.preventDefault(), void submit())}>
        <div class="words">
          <About approval={a} />
          <p class="quote">{t("askedBy", { by: a.asked_by, at: when(a.asked_at) })} {a.reason && <q>{a.reason}</q>}</p>
          <p>{t(decision === "confirm" ? "confirmNote" : "rejectNote")}</p>
        </div>
        <TextField name="reason" label={t(decision === "confirm" ? "note" : "why")} hint={t("reasonHint")} value={reason} onInput={(v) => (decide.clear(), setReason(v))} fault={pressed ? fault : undefined} />
        <FaultText fault={decide.fault} explain={unsure} />
        <div class="end">
          <Button onClick={onClose} disabled={decide.busy}>{t("cancel")}</Button>
          <Button submit kind="danger" busy={decide.busy}>{t(decision === "confirm" ? "doConfirm" : "doReject")}</Button>
        </div>
      </form>
    </Dialog>
  );
}

/** About says what happens to the money when an order is carried out. */
function About({ approval: a }: { approval: Approval }) {
  if (a.action === "withdrawal.paid" || a.action === "withdrawal.back") return <AboutWithdrawal approval={a} act={a.action === "withdrawal.paid" ? "paid" : "back"} />;
  const values = { amount: money(a.amount), target: a.target, reference: a.reference ?? "" };
  return (
    <>
      <p><strong>{actionWords(a)}</strong></p>
      <p>{t(a.action === "deposit" ? "whatDeposit" : a.action === "provider" ? "whatProvider" : "whatLetter", values)}</p>
    </>
  );
}

/** A withdrawal is asked for, so that the player and the receiver are those that the ledger has. */
function AboutWithdrawal({ approval: a, act }: { approval: Approval; act: "paid" | "back" }) {
  const load = useLoad((signal) => api<WithdrawalRecord>(`/withdrawals/${seg(a.target)}`, { signal }), [a.target]);
  if (!load.data) return load.fault ? <FaultBox fault={load.fault} retry={load.reload} /> : <Loading />;
  const values = { amount: money(load.data.amount), user: load.data.user, receiver: load.data.receiver || w("provider") };
  return (
    <>
      <p><strong>{w(`what_${act}`, values)}</strong></p>
      <p class="mono">{a.target}{a.reference && ` · ${a.reference}`}</p>
      <p>{w(`note_${act}`, values)}</p>
    </>
  );
}

/** actionWords is what was asked for. An act that this page does not know has its own name. */
export function actionWords(a: Approval): string {
  const key = `act_${a.action}`;
  return t.has(key) ? t(key) : a.action;
}
