// What the player's page loads when it is at leisure, so that a whole hall is not kept waiting for it: music, practice, the
// poster, and the proof of a rain.

export { checkLuck } from "../../sdk/index.ts";
export { Music } from "./music.ts";
export { Keepsake } from "./keepsake.ts";
export { Practice } from "./practice.ts";
