// Small things that stand within a line.

import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { pictureOf, type Profile } from "../../shared/faces.ts";
import { money, when } from "../format.ts";
import { Button } from "./button.tsx";
import { copy } from "./copy.ts";
import { t } from "./strings.ts";

export type Tone = "good" | "warn" | "bad" | "live" | "none";

/** Badge is a short word about a state, with a colour that says the same. */
export function Badge({ tone = "none", children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

const TONES: Record<string, Tone> = {
  ready: "good", raining: "live", falling: "live", sold_out: "warn", paused: "warn", countdown: "warn", loading: "none", closed: "none", ended: "none",
  granted: "warn", checked: "warn", settled: "good", failed: "warn", dead: "bad", pending: "warn", paid: "good",
};

/** State is the badge of a state that the API names: of a campaign, a rain, a claim, a withdrawal. */
export function State({ of }: { of: string }) {
  const key = `state_${of}`;
  return <Badge tone={TONES[of] ?? "none"}>{t.has(key) ? t(key) : of}</Badge>;
}

/** Called is a player's nickname, with the guest's picture. */
export function Called({ of: { name, face } }: { of: Profile }) {
  const address = pictureOf({ face });
  return <span class="called">{address && <img src={address} alt="" width="20" height="20" />}<bdi>{name}</bdi></span>;
}

/** Money is an amount in minor units. */
export function Money({ minor }: { minor: number | null | undefined }) {
  return <span class="money">{money(minor)}</span>;
}

/** Time is a time of the server's clock, as this computer's time zone has it. */
export function Time({ ms }: { ms: number | null | undefined }) {
  return ms == null ? <span>{when(ms)}</span> : <time class="time" dateTime={new Date(ms).toISOString()}>{when(ms)}</time>;
}

/** Copy puts a text on the clipboard, and says that it has. */
export function Copy({ text, label }: { text: string; label: string }) {
  const [said, say] = useState<"" | "copied" | "copyFailed">("");
  useEffect(() => {
    if (!said) return;
    const timer = setTimeout(() => say(""), 2_000);
    return () => clearTimeout(timer);
  }, [said]);
  return (
    <span class="copy">
      <Button kind="plain" small label={label} onClick={() => void copy(text).then((ok) => say(ok ? "copied" : "copyFailed"))}><CopySign /></Button>
      <span class="soft" role="status">{said && t(said)}</span>
    </span>
  );
}

/** Drawn, as few fonts have a sign for it. */
function CopySign() {
  return (
    <svg width="15" height="15" viewBox="0 0 15 15" fill="none" stroke="currentColor" stroke-width="1.4" aria-hidden="true">
      <rect x="5" y="5" width="8.5" height="8.5" rx="1.5" />
      <path d="M10 5V3A1.5 1.5 0 0 0 8.5 1.5H3A1.5 1.5 0 0 0 1.5 3v5.5A1.5 1.5 0 0 0 3 10h2" />
    </svg>
  );
}
