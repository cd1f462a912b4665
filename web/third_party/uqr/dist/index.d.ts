export * from "./index.mjs";
