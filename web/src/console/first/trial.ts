/** TRIAL is the campaign of a first run, without its name. It is small, but a few people never empty it at once. */
export const TRIAL = { sponsor: "trial", budget: 8_800, packets: 200, split: "double_mean", min: 1, wins_per_user: 20 };

/** RAIN is its rain: time enough to go to the players' page. */
export const RAIN = { starts_in_ms: 10_000, duration_ms: 30_000, drops_per_second: 8 };
