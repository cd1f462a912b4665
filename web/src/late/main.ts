// What the player's page loads when it is at leisure, so that a whole hall is not kept waiting for it: music, practice, the
// poster, the proof of a rain, the form for withdrawals, and the figures for support.

export { expose } from "./debug.ts";
export { LuckCheck } from "./luck.ts";
export { Music } from "./music.ts";
export { Keepsake } from "./keepsake.ts";
export { Practice } from "./practice.ts";
export { Withdraw } from "./withdraw.ts";
