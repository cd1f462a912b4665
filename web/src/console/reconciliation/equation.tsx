import { money } from "../format.ts";
import type { Reconciliation } from "../../shared/schemas.ts";
import { Money } from "../ui/index.ts";
import { t } from "./words.ts";

/** What the budget has become, in the order of a packet's life backwards: what is done comes first. */
export const TERMS = ["paid", "reclaimed", "stock", "unsettled", "dead"] as const;

/** Equation writes the books of a campaign as a sum that can be followed with a finger. */
export function Equation({ of: r }: { of: Reconciliation }) {
  const together = TERMS.reduce((n, term) => n + r[term], 0);
  return (
    <>
      <p class="line num">{money(r.funded)} {r.difference === 0 ? "=" : "≠"} {TERMS.map((term) => money(r[term])).join(" + ")}</p>
      <Shares of={r} />
      <table class="equation">
        <caption class="unseen">{t("equation")}</caption>
        <thead class="unseen"><tr><th scope="col">{t("term")}</th><th scope="col">{t("amount")}</th></tr></thead>
        <tbody>
          <tr class="funded"><th scope="row">{t("funded")} <small>{t("fundedHint")}</small></th><td class="num"><Money minor={r.funded} /></td></tr>
          {TERMS.map((term, i) => (
            <tr key={term}>
              <th scope="row"><i class="sign" aria-hidden="true">{i === 0 ? "=" : "+"}</i><i class="swatch" data-term={term} aria-hidden="true" />{t(term)} <small>{t(`${term}Hint`)}</small></th>
              <td class="num"><Money minor={r[term]} /></td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr><th scope="row">{t("total")}</th><td class="num"><Money minor={together} /></td></tr>
          <tr class={r.difference === 0 ? "good" : "bad"}>
            <th scope="row">{t("difference")} <small>{t("differenceHint")}</small></th><td class="num"><Money minor={r.difference} /></td>
          </tr>
        </tfoot>
      </table>
    </>
  );
}

/** Shares shows the terms as parts of a bar. What there is is seen, however little. */
function Shares({ of: r }: { of: Reconciliation }) {
  const whole = Math.max(1, r.funded);
  return (
    <div class="shares" aria-hidden="true">
      {TERMS.filter((term) => r[term] > 0).map((term) => <i key={term} data-term={term} style={{ flexGrow: Math.max(0.004, r[term] / whole) }} />)}
    </div>
  );
}

/** Findings are the rows that are wrong, as the server names them. level is their heading's. */
export function Findings({ title, list, level: Heading = "h3" }: { title: string; list: readonly string[] | undefined; level?: "h2" | "h3" }) {
  if (!list || list.length === 0) return null;
  return (
    <div class="findings">
      <Heading>{title}</Heading>
      <ul aria-label={title}>{list.map((f) => <li key={f}>{f}</li>)}</ul>
      <p class="soft small">{t("findingsNote")}</p>
    </div>
  );
}
