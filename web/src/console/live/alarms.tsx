import { texts } from "../i18n.ts";
import { codeName, Said } from "../status/said.tsx";
import { live as strings } from "../strings/live.ts";
import { Button, Time } from "../ui/index.ts";
import type { Live } from "./uselive.ts";

const t = texts(strings);

/** Alarms stay until somebody has dismissed them. */
export function Alarms({ live }: { live: Live }) {
  return (
    <div role="alert" class="alarms">
      {live.alarms.map((a) => (
        <div class="alarm" key={a.id}>
          <span><b>{t("alarm")}</b> {codeName(a.code)} · <Time ms={a.at} /><br /><Said of={a} /></span>
          <Button small onClick={() => live.dismiss(a.id)}>{t("dismiss")}</Button>
        </div>
      ))}
    </div>
  );
}
