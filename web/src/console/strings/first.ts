// Texts of the first run: from nothing to a rain in three clicks.

import type { Table } from "../../shared/i18n.ts";

export const first = {
  title: { zh: "三步开第一场红包雨", en: "Your first rain in three clicks" },
  lead: { zh: "先用一个小活动试一遍：创建活动，打开玩家页面，开始红包雨。之后再按需新建。", en: "Create a small campaign, open the player page, start the rain. Then create your own." },
  invite: { zh: "第一次使用？三步开一场红包雨", en: "New here? Start a rain in three clicks" },
  make: { zh: "创建试用活动", en: "Create a trial campaign" },
  makeText: { zh: "为出资方 {sponsor} 入账 {budget}，拆成 {packets} 个红包，每人最多抢 {wins} 个。", en: "Deposits {budget} for sponsor {sponsor} and splits it into {packets} packets. Each player wins up to {wins}." },
  makeTrial: { zh: "这台服务器没有连接真实的后端，这笔钱只存在于试用中。", en: "This server has no real back ends: the money exists only in this trial." },
  makeReal: { zh: "这台服务器连接着真实的账本，这笔入账会被记录。", en: "This server has a real ledger: the deposit is recorded there." },
  makeDo: { zh: "创建", en: "Create" },
  made: { zh: "已创建：{name}", en: "Created: {name}" },
  name: { zh: "试用红包雨", en: "Trial rain" },
  needs: { zh: "需要入账和活动两种权限。请联系管理员，或用启动时打印的令牌登录。", en: "You need the admin role: ask an admin, or sign in with the token that the server printed at startup." },
  play: { zh: "打开玩家页面", en: "Open the player page" },
  playText: { zh: "在新标签页中以玩家身份体验，或把地址发到手机上。", en: "Play in a new tab, or send the address to a phone." },
  copy: { zh: "复制地址", en: "Copy address" },
  noGuests: { zh: "这台服务器不允许游客参加，玩家页面会要求登录。", en: "Guests are off on this server: players have to sign in." },
  playDo: { zh: "打开", en: "Open" },
  rain: { zh: "开始红包雨", en: "Start the rain" },
  rainText: { zh: "倒计时 {wait} 秒，然后持续 {length} 秒。", en: "A countdown of {wait} seconds, then {length} seconds of rain." },
  rainDo: { zh: "开始", en: "Start" },
  started: { zh: "红包雨将在 {at} 开始。", en: "The rain starts at {at}." },
  then: { zh: "接下来：", en: "Next:" },
  own: { zh: "新建自己的活动", en: "Create your own campaign" },
  wall: { zh: "打开大屏", en: "Open the big screen" },
  waits: { zh: "入账需要另一人确认。请先在“待确认”中处理，再回到这里。", en: "The deposit needs a second person. Come back once it is confirmed." },
} satisfies Table;
