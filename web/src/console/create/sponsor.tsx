import { useId, useState } from "preact/hooks";
import { api, ApiError, seg, type Page } from "../api.ts";
import { money } from "../format.ts";
import { useLoad } from "../hooks.ts";
import { DepositDialog } from "../sponsors/deposit.tsx";
import type { Sponsor } from "../../shared/schemas.ts";
import { Act, TextField } from "../ui/index.ts";
import { useSettled } from "./settled.ts";
import { sponsorFault } from "./validate.ts";
import { t } from "./words.ts";

/** How long a person has to pause before the server is asked, in ms. */
const PAUSE = 350;

/** SponsorFunds is what a sponsor has, as far as it is known: null is not (yet) known. */
export interface SponsorFunds {
  /** Minor units; 0 where there is no such sponsor yet. */
  balance: number | null;
  unknown: boolean;
  set: (sponsor: Sponsor) => void;
}

/** useFunds asks for a sponsor's balance while its id is being typed. */
export function useFunds(id: string): SponsorFunds {
  const settled = useSettled(id, PAUSE);
  const load = useLoad<Sponsor | null>(async (signal) => {
    if (sponsorFault(settled)) return null;
    try {
      return await api<Sponsor>(`/sponsors/${seg(settled)}`, { signal });
    } catch (fault) {
      if (fault instanceof ApiError && fault.code === "unknown_sponsor") return { sponsor: "", balance: 0 };
      throw fault;
    }
  }, [settled]);
  const known = settled === id ? load.data : null;
  return { balance: known?.balance ?? null, unknown: known?.sponsor === "", set: load.set };
}

export interface SponsorFieldProps {
  value: string;
  onInput: (value: string) => void;
  fault: string | undefined;
  funds: SponsorFunds;
  /** The campaign's budget, in minor units; null where it is not known yet. */
  budget: number | null;
}

/** SponsorField asks who pays, and says what they have and whether it is enough. */
export function SponsorField({ value, onInput, fault, funds, budget }: SponsorFieldProps) {
  const id = useId();
  const [depositing, setDepositing] = useState(false);
  // Suggestions only: without them an id can be typed as well.
  const known = useLoad((signal) => api<Page<Sponsor>>("/sponsors?limit=500", { signal }), []);
  // In the dialog another sponsor may have been written.
  const deposited = (s: Sponsor) => {
    if (s.sponsor === value.trim()) funds.set(s);
    known.reload();
  };
  const missing = funds.balance !== null && budget !== null ? Math.max(0, budget - funds.balance) : 0;
  return (
    <div class="sponsor">
      <TextField name="sponsor" label={t("sponsor")} hint={funds.balance === null ? t("sponsorHint") : undefined} fault={fault} value={value} onInput={onInput} list={id} />
      <datalist id={id}>{known.data?.items.map((s) => <option key={s.sponsor} value={s.sponsor}>{money(s.balance)}</option>)}</datalist>
      <div class="funds" role="status">
        {funds.balance !== null && <small class="soft">{funds.unknown ? t("balanceNone") : t("balance", { balance: money(funds.balance) })}</small>}
        {missing > 0 && <small class="short">{t("missing", { missing: money(missing) })}</small>}
      </div>
      {missing > 0 && <Act needs="deposits" small onClick={() => setDepositing(true)}>{t("deposit", { amount: money(missing) })}</Act>}
      {depositing && <DepositDialog sponsor={value.trim()} amount={missing} onClose={() => setDepositing(false)} onDone={deposited} />}
    </div>
  );
}
