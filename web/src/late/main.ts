// The parts that the player's page loads later, so that a full hall does not wait for them. They are music, practice,
// the poster, the proof of a rain, a guest's name, the form for withdrawals and their confirmation in WeChat, the figures for
// support, and the data for WeChat.

export { expose } from "./debug.ts";
export { LuckCheck } from "./luck.ts";
export { Me } from "./me.ts";
export { Music } from "./music.ts";
export { Keepsake } from "./keepsake.ts";
export { Practice } from "./practice.ts";
export { Transfer } from "./transfer.ts";
export { Withdraw } from "./withdraw.ts";

import { inWeChat } from "../shared/wechat.ts";

// WeChat's browser loads one more script if the operator has set up the JS-SDK. Its faults do not affect the page.
const wechat = document.querySelector<HTMLMetaElement>("meta[name=wechat]");
if (wechat && inWeChat) void import(wechat.content).catch(() => {});
