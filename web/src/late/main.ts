// What the player's page loads when it is at leisure, so that a whole hall is not kept waiting for it: music, the poster, and the
// proof of a rain.

export { checkLuck } from "../../sdk/index.ts";
export { Music } from "./music.ts";
export { poster } from "./poster.ts";
