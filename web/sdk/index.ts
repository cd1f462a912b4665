// redrain.js: what others build on. redrain.d.ts describes it; surface_check.ts holds the two together.

export { RainClient } from "./client.ts";
export { CloseCode } from "./close.ts";
export { checkLuck } from "./luck.ts";
export type * from "./redrain.d.ts";
