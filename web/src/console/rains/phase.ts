import type { Campaign, Rain, RainPhase } from "../../shared/schemas.ts";

/** phaseAt is the phase of a rain at a time of the server's clock. It changes with time, without a message. */
export function phaseAt(rain: Rain, campaign: Pick<Campaign, "state">, now: number): RainPhase {
  if (rain.phase === "ended" || campaign.state === "closed" || now >= rain.ends_at) return "ended";
  if (campaign.state === "paused") return "paused";
  return now < rain.starts_at ? "countdown" : "falling";
}

/** activeRain is the scheduled or falling rain: a campaign has one at most. */
export function activeRain(campaign: Campaign, now: number): Rain | undefined {
  return campaign.rains.find((r) => phaseAt(r, campaign, now) !== "ended");
}

/** left is the remaining time as a countdown: "0:07", "12:03", "3:04:05". It is rounded up, so that it ends at 0. */
export function left(ms: number): string {
  const s = Math.max(0, Math.ceil(ms / 1_000));
  const two = (n: number) => String(n).padStart(2, "0");
  const [h, m] = [Math.floor(s / 3_600), Math.floor(s / 60) % 60];
  return h > 0 ? `${h}:${two(m)}:${two(s % 60)}` : `${m}:${two(s % 60)}`;
}
