// Texts that only what comes later says, so that the page itself need not bring them.

import type { Table } from "../shared/i18n.ts";

export const luck = {
  luck_fair: { zh: "{n} 拍里你有 {lucky} 次好运，每一次都与公布的种子一致", en: "You were lucky in {lucky} of {n} beats, and every answer is what the seed says" },
  luck_unfair: { zh: "与公布的种子不一致：{claims}", en: "This is not what the seed says: {claims}" },
  luck_wait: { zh: "种子还没有公布，请稍后再试", en: "The seed is not out yet. Try again in a moment" },
  luck_gone: { zh: "已经查不到这场红包雨", en: "This rain cannot be found any more" },
  luck_failed: { zh: "暂时查不到，请稍后再试", en: "It cannot be looked up just now. Try again" },
} satisfies Table;
