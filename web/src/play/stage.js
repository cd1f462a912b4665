// What the middle of the page says: a pure function of what is known.

import { countdown, phaseOf } from "../rain/phase.ts";

// stage answers {mode, title, hint, big, rule}: keys of the texts, or values to show as they are (`big`).
// The model: {problem, campaign, rain, stock}, t the server's time.
export function stage(model, t) {
  const { problem, campaign, rain, stock } = model;
  if (problem) return { mode: "problem", title: problem.title, hint: problem.hint, values: problem.values };
  if (!campaign) return { mode: "entering", title: "entering" };
  if (campaign.state === "closed") return { mode: "over", title: "closed_title", hint: "closed_hint" };
  const phase = phaseOf(rain, t);
  if (phase === "paused") return { mode: "paused", title: "paused_title", hint: "paused_hint" };
  if (phase === "falling") {
    // A shout in the first moment, then nothing stands in the way of the packets.
    return t - rain.starts_at < 900 ? { mode: "falling", big: "go", shout: true } : { mode: "falling" };
  }
  if (phase === "countdown") {
    return { mode: "countdown", title: "next_rain", hint: "get_ready", big: countdown(rain.starts_at - t), campaign };
  }
  if (stock === 0) return { mode: "over", title: "sold_out_title", hint: "sold_out_hint" };
  if (campaign.state === "paused") return { mode: "paused", title: "paused_title", hint: "paused_hint" };
  return { mode: "waiting", title: "waiting", hint: "waiting_hint", campaign };
}
