import { useState } from "preact/hooks";
import { waits } from "../approvals/said.ts";
import { newKey, post, seg } from "../api.ts";
import { plainYuan, readYuan } from "../create/amounts.ts";
import * as limit from "../create/limits.ts";
import { sponsorFault, type Fault } from "../create/validate.ts";
import { words } from "../create/words.ts";
import { date, money } from "../format.ts";
import { useAction } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { sponsors } from "../strings/sponsors.ts";
import type { Approval, Sponsor } from "../../shared/schemas.ts";
import { Button, Dialog, FaultText, TextField, fieldWords, toast, unsure } from "../ui/index.ts";

const t = texts(sponsors);

interface Props {
  /** The sponsor's id, where it is known; it is typed otherwise. */
  sponsor?: string;
  /** What is proposed, in minor units. */
  amount?: number;
  onClose: () => void;
  onDone: (sponsor: Sponsor) => void;
}

interface Deposit {
  sponsor: string;
  amount: number;
  reference: string;
}

/** DepositDialog books money for a sponsor. The reference makes it count once, however often it is sent. */
export function DepositDialog({ sponsor = "", amount, onClose, onDone }: Props) {
  const [id, setID] = useState(sponsor);
  const [text, setText] = useState(amount ? plainYuan(amount) : "");
  const [reference, setReference] = useState(() => `console-${date(Date.now()).replaceAll("-", "")}-${newKey().slice(0, 6)}`);
  const [pressed, setPressed] = useState(false);
  const deposit = useAction<Deposit>(async (key, d) => {
    const after = await post<Sponsor | Approval>(`/sponsors/${seg(d.sponsor)}/deposits`, { amount: d.amount, reference: d.reference }, key);
    if (waits(after)) return;
    toast(t("deposited", { sponsor: after.sponsor, amount: money(d.amount), balance: money(after.balance) }));
    onDone(after);
  });
  const minor = readYuan(text);
  const faults = { sponsor: sponsorFaultOf(id.trim()), amount: amountFault(text, minor), reference: referenceFault(reference.trim()) };
  const told = (field: keyof typeof faults, value: string) => {
    const fault = faults[field];
    const server = fieldWords(deposit.fault, field);
    return fault && (pressed || (value !== "" && fault.key !== "required")) ? words(fault) : server;
  };
  const submit = async () => {
    setPressed(true);
    if (faults.sponsor || faults.amount || faults.reference || minor === null) return;
    if (await deposit.run({ sponsor: id.trim(), amount: minor, reference: reference.trim() })) onClose();
  };
  const change = (set: (value: string) => void) => (value: string) => (deposit.clear(), set(value));
  return (
    <Dialog title={t("depositTitle")} onClose={onClose} busy={deposit.busy}>
      <form noValidate onSubmit={(e) => (e.preventDefault(), void submit())}>
        <div class="fields">
          <TextField name="sponsor" label={t("sponsor")} value={id} onInput={change(setID)} fault={told("sponsor", id)} />
          <TextField name="amount" label={t("amount")} kind="decimal" value={text} onInput={change(setText)} fault={told("amount", text)} />
          <TextField name="reference" label={t("reference")} hint={t("referenceHint")} wide value={reference} onInput={change(setReference)} fault={told("reference", reference)} />
        </div>
        <p class="soft">{t("depositNote")}</p>
        <FaultText fault={deposit.fault} explain={unsure} />
        <div class="end">
          <Button onClick={onClose} disabled={deposit.busy}>{t("cancel")}</Button>
          <Button submit kind="main" busy={deposit.busy}>{minor ? t("doDeposit", { amount: money(minor) }) : t("deposit")}</Button>
        </div>
      </form>
    </Dialog>
  );
}

function sponsorFaultOf(id: string): Fault | null {
  const key = sponsorFault(id);
  return key && { key, values: { most: limit.MAX_SPONSOR } };
}

function amountFault(text: string, minor: number | null): Fault | null {
  if (text.trim() === "") return { key: "required" };
  if (minor === null) return { key: "notMoney" };
  return minor < 1 || minor > limit.MAX_BUDGET ? { key: "amountRange", values: { mMost: limit.MAX_BUDGET } } : null;
}

function referenceFault(reference: string): Fault | null {
  if (reference === "") return { key: "required" };
  return limit.bytes(reference) > limit.MAX_REFERENCE_BYTES ? { key: "referenceLong", values: { most: limit.MAX_REFERENCE_BYTES } } : null;
}
