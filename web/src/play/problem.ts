// The reason why a connection has ended for good, and the player's remedy.

import { CloseCode } from "../../sdk/index.ts";
import type { Problem } from "./stage.ts";

/** Ended is a problem and its remedy: another token, another try, or none. */
export interface Ended extends Problem {
  signin?: true;
  retry?: true;
  /** a retry reloads the page: this one would fail again */
  reload?: true;
}

/**
 * problemOf is the problem of a close code, or of the HTTP status that refused a token. refusal is the code of that
 * answer.
 */
export function problemOf(code: number, refusal = ""): Ended {
  if (refusal === "challenge_required") return { title: "unproved_title", hint: "unproved_hint", retry: true };
  if (refusal === "not_on_the_list") return problemOf(CloseCode.notInvited);
  if (refusal === "denied") return problemOf(CloseCode.sentAway);
  if (code === CloseCode.badToken || code === CloseCode.expired || code === CloseCode.tooLarge) return { title: "signin_title_bad", hint: "signin_bad", signin: true };
  if (code >= 400 && code < 500) return { title: "signin_title", hint: "signin_hint", signin: true };
  if (code === CloseCode.elsewhere) return { title: "ended_elsewhere", hint: "ended_elsewhere_hint", retry: true };
  if (code === CloseCode.sentAway) return { title: "ended_away", hint: "ended_away_hint" };
  if (code === CloseCode.notInvited) return { title: "ended_invited", hint: "ended_invited_hint", signin: true, other: true };
  if (code === CloseCode.unknownCampaign) return { title: "ended_campaign", hint: "ended_campaign_hint", retry: true, other: true };
  if (code === CloseCode.protocol) return { title: "ended_old", hint: "ended_old_hint", retry: true, reload: true };
  return { title: "ended_other", hint: "ended_other_hint", values: { code }, retry: true, reload: true };
}
