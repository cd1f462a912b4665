import { useEffect, useState } from "preact/hooks";
import { texts } from "../i18n.ts";
import type { TabProps } from "../campaign/tabs.ts";
import { serverNow } from "../servertime.ts";
import { rains as strings } from "../strings/rains.ts";
import { Button, Operator } from "../ui/index.ts";
import { ConfirmClose, ConfirmPause, ConfirmResume, ConfirmStop } from "./confirms.tsx";
import { activeRain } from "./phase.ts";
import { StartRain } from "./start.tsx";

const t = texts(strings);

/** Controls is what an operator can do with a campaign. Each asks first, and names the money. */
export function Controls(props: TabProps) {
  const [asks, ask] = useState<"start" | "stop" | "pause" | "resume" | "close" | undefined>();
  const { campaign: c } = props;
  const rain = activeRain(c, serverNow());
  // A question about a rain goes with it: it would else come up again by itself, about the next one.
  useEffect(() => ask((now) => (now === "stop" ? undefined : now)), [rain?.id]);
  if (c.state === "closed") return null;
  const dialog = { ...props, onClose: () => ask(undefined) };
  return (
    <Operator>
      <div class="row controls">
        {rain ? <Button onClick={() => ask("stop")}>{t("stop")}</Button>
          : <Button kind="main" disabled={c.state === "loading"} onClick={() => ask("start")}>{t("start")}</Button>}
        {c.state === "paused" ? <Button kind="main" onClick={() => ask("resume")}>{t("resume")}</Button>
          : <Button disabled={c.state === "loading"} onClick={() => ask("pause")}>{t("pause")}</Button>}
        <Button kind="danger" disabled={c.state === "loading"} onClick={() => ask("close")}>{t("close")}</Button>
      </div>
      {asks === "start" && <StartRain {...dialog} />}
      {asks === "stop" && rain && <ConfirmStop {...dialog} rain={rain} />}
      {asks === "pause" && <ConfirmPause {...dialog} />}
      {asks === "resume" && <ConfirmResume {...dialog} />}
      {asks === "close" && <ConfirmClose {...dialog} />}
    </Operator>
  );
}
