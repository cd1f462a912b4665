export { RainClient } from "./client.js";
