// The groups of fields of the form.

import { money } from "../format.ts";
import { Advanced, Field, SelectField, TextField } from "../ui/index.ts";
import { plainYuan, type AmountList } from "./amounts.ts";
import { SPLITS, UNITS, emptyDraft, type Draft, type Field as Name, type Unit } from "./draft.ts";
import { COUNT_FIELDS, type Count } from "./limits.ts";
import { PlayersField } from "./players.tsx";
import { SponsorField, type SponsorFunds } from "./sponsor.tsx";
import { t } from "./words.ts";

/** FormState is what the groups of fields work with. */
export interface FormState {
  draft: Draft;
  change: (fields: Partial<Draft>) => void;
  /** fault is what is wrong with a field, in words, as far as it should be told already. */
  fault: (field: Name) => string | undefined;
}

/** text is what a TextField of a draft's field needs. */
function text<N extends Name & Parameters<typeof t>[0]>({ draft, change, fault }: FormState, name: N) {
  return { name, label: t(name), value: draft[name], fault: fault(name), onInput: (value: string) => change({ [name]: value } as Partial<Draft>) };
}

/** WhatFields: what it is called, and who pays. */
export function WhatFields({ state, funds, budget }: { state: FormState; funds: SponsorFunds; budget: number | null }) {
  const sponsor = text(state, "sponsor");
  return (
    <fieldset class="panel">
      <legend>{t("groupWhat")}</legend>
      <div class="fields">
        <TextField {...text(state, "name")} hint={t("nameHint")} />
        <SponsorField value={sponsor.value} onInput={sponsor.onInput} fault={sponsor.fault} funds={funds} budget={budget} />
      </div>
    </fieldset>
  );
}

/** SplitFields: the money, and how it is cut. With a list the list says how much and how many. */
export function SplitFields({ state, list }: { state: FormState; list: AmountList | null }) {
  const { draft, change } = state;
  const fromList = (value: string) => ({ value, readOnly: true, hint: t("fromList"), onInput: () => {} });
  return (
    <fieldset class="panel">
      <legend>{t("groupSplit")}</legend>
      <div class="fields">
        <SelectField name="split" label={t("split")} hint={t(`${draft.split}Hint`)} fault={state.fault("split")} wide value={draft.split}
          options={SPLITS.map((value) => ({ value, label: t(value) }))} onChange={(split) => change({ split })} />
        <TextField {...text(state, "budget")} kind="decimal" placeholder="10000.00" {...(list && fromList(plainYuan(list.sum)))} />
        <TextField {...text(state, "packets")} kind="numeric" placeholder="5000" {...(list && fromList(String(list.amounts.length)))} />
        {list && <AmountsField state={state} list={list} />}
        <TextField {...text(state, "min")} kind="decimal" />
        <TextField {...text(state, "max")} kind="decimal" hint={t("maxHint")} />
      </div>
    </fieldset>
  );
}

function AmountsField({ state, list }: { state: FormState; list: AmountList }) {
  const { value, onInput, ...field } = text(state, "amounts");
  return (
    <>
      <Field {...field} wide hint={t("amountsHint")}>
        {(control) => <textarea {...control} name="amounts" rows={6} spellcheck={false} value={value} placeholder={"88.88\n8.88×100"} onInput={(e) => onInput(e.currentTarget.value)} />}
      </Field>
      {list.amounts.length > 0 && <p class="wide listsum" role="status">{t("listSum", { count: list.amounts.length, sum: money(list.sum) })}</p>}
    </>
  );
}

/** The rules that few campaigns change: those that are whole numbers, and all. */
const FOLDED_COUNTS = COUNT_FIELDS.filter((field) => field !== "wins_per_user");
const FOLDED = [...FOLDED_COUNTS, "players", "guests_share"] as const;

/** RuleFields: what a player may do, and until when. */
export function RuleFields({ state }: { state: FormState }) {
  const units = Object.keys(UNITS) as Unit[];
  const usual = emptyDraft();
  const count = (field: Count) => <TextField key={field} {...text(state, field)} kind="numeric" hint={t(`${field}_hint`)} />;
  return (
    <fieldset class="panel">
      <legend>{t("groupRules")}</legend>
      <div class="fields">
        {count("wins_per_user")}
        <Field label={t("expires_in_ms")} hint={t("expiresHint")} fault={state.fault("expires_in_ms")}>
          {(control) => (
            <span class="withunit">
              <input {...control} name="expires_in_ms" inputMode="decimal" autocomplete="off" value={state.draft.expires_in_ms} onInput={(e) => state.change({ expires_in_ms: e.currentTarget.value })} />
              <select name="unit" aria-label={t("unit")} value={state.draft.unit} onChange={(e) => {
                const unit = units.find((u) => u === e.currentTarget.value);
                if (unit) state.change({ unit });
              }}>
                {units.map((u) => <option key={u} value={u} selected={u === state.draft.unit}>{t(u)}</option>)}
              </select>
            </span>
          )}
        </Field>
      </div>
      <Advanced open={FOLDED.some((field) => state.draft[field] !== usual[field] || state.fault(field))}>
        {FOLDED_COUNTS.map(count)}
        <PlayersField value={state.draft.players} fault={state.fault("players")} onInput={(players) => state.change({ players })} />
        <TextField {...text(state, "guests_share")} kind="decimal" hint={t("shareHint")} />
      </Advanced>
    </fieldset>
  );
}
