import { useState } from "preact/hooks";
import { post, seg, type ApiError } from "../api.ts";
import type { TabProps } from "../campaign/tabs.ts";
import { clock, count, moment, seconds, when, zone } from "../format.ts";
import { useAction, useInterval } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { serverNow, toLocal, toServer } from "../servertime.ts";
import { rains as strings } from "../strings/rains.ts";
import type { Rain } from "../../shared/schemas.ts";
import { Advanced, Button, Dialog, FaultText, SelectField, TextField, fieldWords, toast } from "../ui/index.ts";
import { Outlook } from "./outlook.tsx";
import { FOLDED_FIELDS, LIMITS, PRESETS, SHOWN_FIELDS, emptyForm, readRain, type LimitedField, type RainForm, type RainBody } from "./limits.ts";

const t = texts(strings);

const IN_MINUTES = 10; // the start time is preset to ten minutes from now

/** StartRain is the dialog that starts a rain. Repeated clicks start one rain. */
export function StartRain({ campaign: c, live, reload, onClose }: TabProps & { onClose: () => void }) {
  const [form, setForm] = useState<RainForm>(() => ({ ...emptyForm(), starts_at: local(Date.now() + IN_MINUTES * 60_000) }));
  const [tried, setTried] = useState(false);
  const [, tick] = useState({});
  useInterval(() => tick({}), 1_000); // the sentence says when it ends
  const action = useAction(async (key, rain: RainBody) => {
    const started = await post<Rain>(`/campaigns/${seg(c.id)}/rains`, rain, key);
    toast(t("started", { at: moment(toLocal(started.starts_at)) }));
    reload();
  });
  const set = (part: Partial<RainForm>) => {
    setForm((f) => ({ ...f, ...part }));
    action.clear();
  };
  const { rain, wrong } = readRain(form, serverNow(), toServer);

  const fault = (field: LimitedField | "starts_at"): string | undefined => {
    const said = fieldWords(action.fault, field);
    const kind = wrong[field];
    if (!kind || (kind === "number" && field !== "starts_at" && form[field] === "" && !tried)) return said;
    if (field === "starts_at") return t(`wrong_${kind}`);
    const { least, most, scale } = LIMITS[field];
    return t(`wrong_${kind}`, { least: least / scale, most: most / scale });
  };
  const field = (name: LimitedField) => {
    const { unit } = LIMITS[name];
    const hint = `${name}_hint`;
    return <TextField key={name} name={name} label={t(name)} value={form[name]} kind="decimal" fault={fault(name)} onInput={(v) => set({ [name]: v })}
      {...(unit ? { unit: unit === "unitS" ? t(unit) : unit } : {})} {...(t.has(hint) ? { hint: t(hint) } : {})} />;
  };
  const submit = async () => {
    setTried(true);
    if (rain && (await action.run(rain))) onClose();
  };

  return (
    <Dialog title={t("startTitle", { name: c.name })} onClose={onClose} busy={action.busy} wide>
      <form noValidate onSubmit={(e) => (e.preventDefault(), void submit())}>
        <div class="row presets" role="group" aria-label={t("presets")}>
          {PRESETS.map((p) => <button key={p.key} type="button" class="button small" onClick={() => set(p.form)}>{t(`preset_${p.key}`)}</button>)}
        </div>
        <fieldset class="choice">
          <legend>{t("begins")}</legend>
          <label><input type="radio" name="begins" checked={!form.at} onChange={() => set({ at: false })} /> {t("beginsSoon")}</label>
          <label><input type="radio" name="begins" checked={form.at} onChange={() => set({ at: true })} /> {t("beginsAt")}</label>
        </fieldset>
        <div class="fields">
          {form.at
            ? <TextField moment wide name="starts_at" label={t("starts_at")} hint={t("zone", { zone: zone(Date.now()) })} value={form.starts_at} fault={fault("starts_at")} onInput={(v) => set({ starts_at: v })} />
            : field("starts_in_ms")}
          {SHOWN_FIELDS.map(field)}
        </div>
        <Advanced open={[...FOLDED_FIELDS, "odds" as const, "beat_ms" as const].some(fault)}>
          {FOLDED_FIELDS.map(field)}
          <SelectField name="pacing" label={t("pacing")} value={form.pacing} hint={t(form.pacing === "even" ? "pacingEvenHint" : "pacingNoneHint")}
            options={[{ value: "none", label: t("pacing_none") }, { value: "even", label: t("pacing_even") }]} onChange={(pacing) => set({ pacing })} />
          <SelectField name="luck" label={t("luck")} value={form.luck} hint={t(`luckHint_${form.luck}`)}
            options={[{ value: "all", label: t("luck_all") }, { value: "auto", label: t("luck_auto") }, { value: "odds", label: t("luck_odds") }]} onChange={(luck) => set({ luck })} />
          {form.luck === "odds" && field("odds")}
          {form.luck !== "all" && field("beat_ms")}
        </Advanced>
        <div class="preview">
          {rain ? preview(rain).map((line) => <p key={line}>{line}</p>) : <p class="soft">{t("previewWrong")}</p>}
          {rain && endOf(rain) > toLocal(c.expires_at) && <p class="short">{t("expires", { at: when(toLocal(c.expires_at)) })}</p>}
          {rain && live.stats && <Outlook campaign={c} stats={live.stats} rain={rain} change={set} />}
        </div>
        <FaultText fault={action.fault} explain={explain} />
        <div class="end">
          <Button onClick={onClose} disabled={action.busy}>{t("cancel")}</Button>
          <Button submit kind="main" busy={action.busy} disabled={!rain}>{action.busy ? t("starting") : form.at ? t("schedule") : t("startNow")}</Button>
        </div>
      </form>
    </Dialog>
  );
}

/** preview is a rain in words: how many packets each screen sees, when it begins and ends. */
function preview(r: RainBody): string[] {
  const drops = Math.floor((r.duration_ms * r.drops_per_second) / 1_000);
  const decoys = Math.round((drops * r.decoy_percent) / 100);
  const values = { lasts: seconds(r.duration_ms), rate: r.drops_per_second, drops, decoys: count(decoys), starts: when(startOf(r)), ends: clock(endOf(r)) };
  return [t("preview", values), ...(decoys > 0 ? [t("previewDecoys", values)] : []), t(r.starts_at ? "previewAt" : "previewEnds", values)];
}

/** startOf and endOf are a rain's times on this computer's clock, if it were started now. */
const startOf = (r: RainBody) => toLocal(r.starts_at ?? serverNow() + (r.starts_in_ms ?? 0));
const endOf = (r: RainBody) => startOf(r) + r.duration_ms + r.fall_ms;

/** explain returns the text of faults that only this dialog can show. */
function explain(fault: ApiError): string | undefined {
  if (fault.code === "invalid" && fault.fields.length > 0) return t("lookAtFields", { fields: fault.fields.map(({ field }) => (t.has(field) ? t(field) : field)).join(", ") });
  return undefined;
}

/** local is a time as a datetime-local field wants it, to the minute. */
function local(ms: number): string {
  const d = new Date(ms);
  const two = (n: number) => String(n).padStart(2, "0");
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}T${two(d.getHours())}:${two(d.getMinutes())}:00`;
}
