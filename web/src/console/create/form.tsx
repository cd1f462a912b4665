import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { post, type ApiError } from "../api.ts";
import { money } from "../format.ts";
import { useAction } from "../hooks.ts";
import { go } from "../route.ts";
import type { Campaign, FieldError, Sponsor } from "../../shared/schemas.ts";
import { Button, FaultText, said, toast, unsure } from "../ui/index.ts";
import { readAmounts } from "./amounts.ts";
import type { CampaignBody, Draft } from "./draft.ts";
import { RuleFields, SplitFields, WhatFields, type FormState } from "./fields.tsx";
import { Preview } from "./preview.tsx";
import { useFunds } from "./sponsor.tsx";
import { Summary } from "./summary.tsx";
import { check, type SplitBody } from "./validate.ts";
import { t, words } from "./words.ts";

/** refusals that a deposit is the remedy of */
const BROKE: ReadonlySet<string> = new Set(["unknown_sponsor", "insufficient_funds"]);

interface Props {
  title: string;
  draft: Draft;
  /** filled: the fields hold something worth judging from the start. */
  filled?: boolean;
}

/** CampaignForm asks for everything of a campaign, shows what it will be, and makes it: once. */
export function CampaignForm({ title, draft: first, filled = false }: Props) {
  const [draft, setDraft] = useState(first);
  const [touched, setTouched] = useState<ReadonlySet<string>>(() => new Set(filled ? Object.keys(first) : []));
  const [pressed, setPressed] = useState(false);
  // What the server found wrong, each until its field is changed.
  const [refused, setRefused] = useState<readonly FieldError[]>([]);
  const form = useRef<HTMLFormElement>(null);
  const list = useMemo(() => (draft.split === "list" ? readAmounts(draft.amounts) : null), [draft.split, draft.amounts]);
  const checked = useMemo(() => check(draft, list), [draft, list]);
  // The same object as long as the split is the same, so that a letter of the name asks for no preview.
  const split = useMemo<SplitBody | null>(() => checked.split, [!checked.split, draft.budget, draft.packets, draft.split, draft.min, draft.max, list]);
  const funds = useFunds(draft.sponsor.trim());

  // Between the answer and the campaign's page the form is still there: a click that comes then must not make another one.
  const made = useRef(false);
  const create = useAction<CampaignBody>(async (key, body) => {
    const campaign = await post<Campaign>("/campaigns", body, key);
    made.current = true;
    toast(t("created", { name: campaign.name, budget: money(campaign.budget), packets: campaign.packets }));
    go("campaigns", campaign.id);
  });
  useEffect(() => {
    if (!create.fault) return;
    setRefused(create.fault.fields);
    if (BROKE.has(create.fault.code)) form.current?.querySelector<HTMLElement>(".sponsor .button")?.focus(); // the remedy, which may be out of sight
  }, [create.fault]);

  // What was refused for want of money is not so any more.
  const paidIn = { ...funds, set: (sponsor: Sponsor) => (create.clear(), funds.set(sponsor)) };

  const state: FormState = {
    draft,
    change(fields) {
      const names = Object.keys(fields);
      setDraft((d) => ({ ...d, ...fields }));
      setTouched((s) => new Set([...s, ...names]));
      setRefused((list) => list.filter((f) => !names.includes(f.field)));
      create.clear();
    },
    fault(field) {
      const fault = checked.faults[field];
      if (fault && (pressed || (touched.has(field) && fault.key !== "required" && fault.key !== "listEmpty"))) return words(fault);
      const told = refused.find((f) => f.field === field);
      return told && t("serverSays", { message: said(told.message) });
    },
  };
  const submit = async () => {
    if (made.current) return;
    setPressed(true);
    if (checked.body) await create.run(checked.body);
    else requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
  };
  const count = Object.keys(checked.faults).length;
  return (
    <form ref={form} class="create" noValidate onSubmit={(e) => (e.preventDefault(), void submit())}>
      <h1>{title}</h1>
      <div class="columns">
        <div class="stack">
          <WhatFields state={state} funds={paidIn} budget={checked.split?.budget ?? null} />
          <SplitFields state={state} list={list} />
          <RuleFields state={state} />
        </div>
        <div class="stack beside">
          <Preview split={split} />
          <section class="panel summary">
            <header><h2>{t("summary")}</h2></header>
            <Summary body={checked.body} balance={funds.balance} />
            <p class="fault" role="status">{pressed && count > 0 && t("faultsLeft", { count })}</p>
            <FaultText fault={create.fault} explain={(fault) => explain(fault, draft)} />
            <Button submit kind="main" busy={create.busy}>
              {checked.split ? t("submit", { budget: money(checked.split.budget) }) : t("submitEmpty")}
            </Button>
            <p class="soft small" role="status">{create.busy && t("creating")}</p>
          </section>
        </div>
      </div>
    </form>
  );
}

/** explain says what a refusal means for the money. Faults of fields stand beside them; one that has no field here is told in the server's words. */
function explain(fault: ApiError, draft: Draft): string | undefined {
  if (t.has(fault.code)) return t(fault.code, { sponsor: draft.sponsor.trim() });
  const stray = fault.fields.filter((f) => !(f.field in draft));
  if (stray.length > 0) return t("serverSays", { message: stray.map((f) => `${f.field}: ${said(f.message)}`).join("; ") });
  if (fault.fields.length > 0) return t("faultsLeft", { count: fault.fields.length });
  return unsure(fault);
}
