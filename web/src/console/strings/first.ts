// Texts of the first run: from nothing to a rain in three clicks.

import type { Table } from "../../shared/i18n.ts";

export const first = {
  title: { zh: "三步下第一场红包雨", en: "Your first rain, in three clicks" },
  lead: { zh: "用一个小活动试一遍：做好活动，打开玩家页面，开始下雨。之后再按自己的需要新建。", en: "Make a small campaign, open the players’ page, let it rain. Then make one of your own." },
  invite: { zh: "第一次来？三步下一场红包雨", en: "New here? A rain in three clicks" },
  make: { zh: "做一个试用活动", en: "Make a trial campaign" },
  makeText: { zh: "为资金方 {sponsor} 入账 {budget}，拆成 {packets} 个红包，每人最多抢 {wins} 个。", en: "Deposits {budget} for sponsor {sponsor}, and cuts it into {packets} packets; each player wins up to {wins}." },
  makeTrial: { zh: "这台服务器没有连接真实的后端，这笔钱只在试用中存在。", en: "This server has no real back ends: the money is of this trial only." },
  makeReal: { zh: "这台服务器连接着真实的账本：这笔入账会被记下来。", en: "This server has a real ledger: the deposit is booked there." },
  makeDo: { zh: "做好活动", en: "Make it" },
  made: { zh: "已做好：{name}", en: "Made: {name}" },
  name: { zh: "试用红包雨", en: "Trial rain" },
  needs: { zh: "需要入账和活动两种权限。请管理员操作，或用启动时打印的令牌登录。", en: "This takes the rights to deposit and to run campaigns: ask an admin, or sign in with the token that the server printed at its start." },
  play: { zh: "打开玩家页面", en: "Open the players’ page" },
  playText: { zh: "在新标签页里扮演玩家，或把地址发给手机上的朋友。", en: "Play it yourself in a new tab, or send the address to a phone." },
  copy: { zh: "复制地址", en: "Copy the address" },
  noGuests: { zh: "这台服务器不允许游客，玩家页面会要求登录。", en: "Guests are off on this server: the page asks players to sign in." },
  playDo: { zh: "打开", en: "Open it" },
  rain: { zh: "开始下雨", en: "Let it rain" },
  rainText: { zh: "倒计时 {wait} 秒后下 {length} 秒。", en: "A countdown of {wait} seconds, then it rains for {length}." },
  rainDo: { zh: "开始", en: "Start" },
  started: { zh: "红包雨将在 {at} 开始。", en: "The rain starts at {at}." },
  then: { zh: "之后：", en: "And then:" },
  own: { zh: "新建自己的活动", en: "Make a campaign of your own" },
  wall: { zh: "打开大屏", en: "Open the big screen" },
  waits: { zh: "入账需要第二个人确认，请先在“待确认”中处理，再回到这里。", en: "The deposit waits for a second person. Come back here when it is confirmed." },
} satisfies Table;
