import { api, seg } from "../api.ts";
import { useLoad } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { rains as strings } from "../strings/rains.ts";
import type { Campaign, Fairness as Proof, Rain } from "../../shared/schemas.ts";
import { Copy, Dialog, FaultBox, Loading } from "../ui/index.ts";

const t = texts(strings);

/** Fairness is the proof that a rain was not steered, and how anybody can check it. */
export function Fairness({ campaign, rain, onClose }: { campaign: Campaign; rain: Rain; onClose: () => void }) {
  const path = `/campaigns/${seg(campaign.id)}/rains/${seg(rain.id)}/fairness`;
  const proof = useLoad((signal) => api<Proof>(path, { signal }), [campaign.id, rain.id]);
  const p = proof.data;
  const command = `redrain verify ${campaign.id} --rain ${rain.id} --commitment ${rain.commitment} --server ${location.origin}`;
  return (
    <Dialog title={t("fairnessTitle")} onClose={onClose} wide>
      <div class="words">
        <p>{t("fairnessWords")}</p>
        {!p && (proof.fault ? <FaultBox fault={proof.fault} retry={proof.reload} /> : <Loading />)}
        {p && (
          <dl class="details">
            <Hex label={t("commitment")} text={p.commitment} />
            {p.seed ? <Hex label={t("seed")} text={p.seed} /> : <div><dt>{t("seed")}</dt><dd class="soft">{t("seedLater")}</dd></div>}
            {p.schedule.digest && <Hex label={t("digest", { n: p.schedule.drops })} text={p.schedule.digest} />}
          </dl>
        )}
        <p>{t("verifyWords")}</p>
        <p class="command"><code>{command}</code><Copy text={command} label={t("copyCommand")} /></p>
        <p><a href={`/api/v1${path}`} target="_blank" rel="noopener">{t("asJSON")}</a></p>
      </div>
    </Dialog>
  );
}

function Hex({ label, text }: { label: string; text: string }) {
  return <div><dt>{label}</dt><dd><span class="mono">{text}</span><Copy text={text} label={t("copyHex", { label })} /></dd></div>;
}
