import { useState } from "preact/hooks";
import { texts } from "../i18n.ts";
import type { TabProps } from "../campaign/tabs.ts";
import { mayAct } from "../session.ts";
import { serverNow } from "../servertime.ts";
import { rains as strings } from "../strings/rains.ts";
import { Act } from "../ui/index.ts";
import { ConfirmClose, ConfirmPause, ConfirmResume, ConfirmStop } from "./confirms.tsx";
import { activeRain } from "./phase.ts";
import { StartRain } from "./start.tsx";

const t = texts(strings);

/** Stop is a question about one rain. */
interface Stop {
  stop: string;
}

/** Controls is what an operator can do with a campaign. Each asks first, and names the money. */
export function Controls(props: TabProps) {
  const [asks, ask] = useState<"start" | Stop | "pause" | "resume" | "close" | undefined>();
  const { campaign: c } = props;
  const rain = activeRain(c, serverNow());
  // It goes with the rain, and does not come up again by itself. Not by an effect: that would come after the first click.
  if (typeof asks === "object" && asks.stop !== rain?.id) ask(undefined);
  if (c.state === "closed" || !mayAct()) return null;
  const dialog = { ...props, onClose: () => ask(undefined) };
  return (
    <>
      <div class="row controls">
        {rain ? <Act needs="campaigns" onClick={() => ask({ stop: rain.id })}>{t("stop")}</Act>
          : <Act needs="campaigns" kind="main" disabled={c.state === "loading"} onClick={() => ask("start")}>{t("start")}</Act>}
        {c.state === "paused" ? <Act needs="campaigns" kind="main" onClick={() => ask("resume")}>{t("resume")}</Act>
          : <Act needs="campaigns" disabled={c.state === "loading"} onClick={() => ask("pause")}>{t("pause")}</Act>}
        <Act needs="campaigns" kind="danger" disabled={c.state === "loading"} onClick={() => ask("close")}>{t("close")}</Act>
      </div>
      {asks === "start" && <StartRain {...dialog} />}
      {typeof asks === "object" && rain && <ConfirmStop {...dialog} rain={rain} />}
      {asks === "pause" && <ConfirmPause {...dialog} />}
      {asks === "resume" && <ConfirmResume {...dialog} />}
      {asks === "close" && <ConfirmClose {...dialog} />}
    </>
  );
}
