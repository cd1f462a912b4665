import { post } from "../api.ts";
import { money } from "../format.ts";
import { texts } from "../i18n.ts";
import { risk } from "../strings/risk.ts";
import type { HeldWin } from "../../shared/schemas.ts";
import { Confirm, toast } from "../ui/index.ts";
import { sumOf } from "./sum.ts";

const t = texts(risk);
const AT_ONCE = 1000; // claims that the server decides about in one request

/** Act is what is done with held wins. */
export type Act = "release" | "confirm";

const ENDS = { release: "released", confirm: "confirmed" } as const;

interface Props {
  act: Act;
  wins: readonly HeldWin[];
  onClose: () => void;
  onDone: () => void;
}

/** DecideHeld says how many wins, how much money and whose, asks why, and releases or confirms them all. */
export function DecideHeld({ act, wins, onClose, onDone }: Props) {
  const { n, amount, players } = sumOf(wins);
  const said = { n, amount: money(amount), players };
  return (
    <Confirm title={t(`${act}Title`, said)} yes={t(`${act}Yes`, said)} danger={act === "confirm"} ask={t("reason")} onClose={onClose}
      run={async (_, reason) => {
        const mine: HeldWin[] = [];
        try {
          for (let from = 0; from < wins.length; from += AT_ONCE) {
            const claims = wins.slice(from, from + AT_ONCE).map((w) => w.claim);
            const answer = await post<{ items: HeldWin[] }>(`/risk/${act}`, { claims, reason });
            mine.push(...answer.items.filter((w) => w.state === ENDS[act] && w.decision === reason));
          }
        } finally {
          onDone(); // also of what was decided before a fault
        }
        const done = sumOf(mine);
        const others = n - done.n;
        toast(`${t(`${act}Done`, { n: done.n, amount: money(done.amount) })}${others > 0 ? ` ${t("before", { n: others })}` : ""}`);
      }}>
      <p>{t(`${act}Words`, said)}</p>
    </Confirm>
  );
}
