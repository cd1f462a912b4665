// What is asked before a campaign is changed. Each names the money that it moves, or that it leaves where it is.

import { useRef } from "preact/hooks";

import { api, post, seg } from "../api.ts";
import type { TabProps } from "../campaign/tabs.ts";
import { money } from "../format.ts";
import { useInterval, useLoad } from "../hooks.ts";
import { texts } from "../i18n.ts";
import { serverNow } from "../servertime.ts";
import { rains as strings } from "../strings/rains.ts";
import type { Rain, Stats } from "../../shared/schemas.ts";
import { Confirm, Loading, toast } from "../ui/index.ts";
import { activeRain } from "./phase.ts";

const t = texts(strings);

/** LARGE is from how much on the name of the campaign has to be typed before it is closed: ¥1,000. */
const LARGE = 100_000;

interface AskProps extends TabProps {
  onClose: () => void;
}

const EVERY = 1_000; // ms between two looks at the figures, while it is asked: a rain goes on meanwhile

/** useStats is the figures of now, not those of the feed, which may be old. */
function useStats({ campaign }: AskProps) {
  const stats = useLoad((signal) => api<Stats>(`/campaigns/${seg(campaign.id)}/stats`, { signal }), [campaign.id]);
  // Not after a fault: what stands there would come and go each second.
  useInterval(() => stats.loading || stats.fault || stats.reload(), EVERY);
  return stats;
}

/** Words waits for the figures; without them it says so, and what is to be done can be done all the same. */
function Words({ stats, say }: { stats: ReturnType<typeof useStats>; say: (s: Stats) => string[] }) {
  if (stats.data && !stats.fault) return <>{say(stats.data).map((words) => <p key={words}>{words}</p>)}</>;
  return stats.fault ? <p class="faulttext">{t("noFigures")}</p> : <Loading />;
}

/** done posts, says it, and looks at the campaign again. */
function useDone({ campaign, reload }: AskProps) {
  return async (path: string, key: string, said: string) => {
    await post(`/campaigns/${seg(campaign.id)}/${path}`, undefined, key);
    toast(said);
    reload();
  };
}

const onItsWay = (s: Stats) => (s.amount_won > s.amount_paid ? t("onItsWay", { won: money(s.amount_won), way: money(s.amount_won - s.amount_paid) }) : t("allPaid", { won: money(s.amount_won) }));

export function ConfirmStop(props: AskProps & { rain: Rain }) {
  const [stats, done] = [useStats(props), useDone(props)];
  const { campaign: c, rain, onClose } = props;
  return (
    <Confirm title={t("stopTitle", { name: c.name })} yes={t("stopYes")} wait={stats.data === undefined && !stats.fault} onClose={onClose}
      run={(key) => done(`rains/${seg(rain.id)}/stop`, key, t("stopDone"))}>
      <Words stats={stats} say={(s) => [t("stopWords", { left: money(s.amount_left), packets: s.stock }), onItsWay(s)]} />
    </Confirm>
  );
}

export function ConfirmPause(props: AskProps) {
  const [stats, done] = [useStats(props), useDone(props)];
  const { campaign: c, onClose } = props;
  const rain = activeRain(c, serverNow());
  return (
    <Confirm title={t("pauseTitle", { name: c.name })} yes={t("pauseYes")} wait={stats.data === undefined && !stats.fault} onClose={onClose}
      run={(key) => done("pause", key, t("pauseDone"))}>
      <Words stats={stats} say={(s) => [t("pauseWords", { left: money(s.amount_left), packets: s.stock }), onItsWay(s), ...(rain ? [t("pauseRain")] : [])]} />
    </Confirm>
  );
}

export function ConfirmResume(props: AskProps) {
  const [stats, done] = [useStats(props), useDone(props)];
  const { campaign: c, onClose } = props;
  return (
    <Confirm title={t("resumeTitle", { name: c.name })} yes={t("resumeYes")} wait={stats.data === undefined && !stats.fault} onClose={onClose}
      run={(key) => done("resume", key, t("resumeDone"))}>
      <Words stats={stats} say={(s) => [t("resumeWords", { left: money(s.amount_left), packets: s.stock })]} />
    </Confirm>
  );
}

export function ConfirmClose(props: AskProps) {
  const [stats, done] = [useStats(props), useDone(props)];
  const { campaign: c, onClose } = props;
  const rain = activeRain(c, serverNow());
  // Without figures it may be much: then it is asked as if it were. Once asked for, the name stays asked for.
  const large = useRef(false);
  large.current ||= stats.data ? stats.data.amount_left >= LARGE : Boolean(stats.fault);
  return (
    <Confirm title={t("closeTitle", { name: c.name })} yes={t("closeYes")} danger typed={large.current ? c.name : undefined}
      wait={stats.data === undefined && !stats.fault} onClose={onClose} run={(key) => done("close", key, t("closeDone"))}>
      <Words stats={stats} say={(s) => [
        t("closeWords", { left: money(s.amount_left), packets: s.stock, sponsor: c.sponsor }), onItsWay(s), ...(rain ? [t("closeRain")] : []), t("closeFinal"),
      ]} />
    </Confirm>
  );
}
