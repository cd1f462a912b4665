// The texts of the big screen. People read them from the back of a hall: few words, and no small ones.

import type { Table } from "../shared/i18n.ts";

export const strings = {
  page_title: { zh: "红包雨 · 大屏", en: "Red packet rain · screen" },
  rain: { zh: "红包雨", en: "Red packet rain" },

  scan: { zh: "扫码抢红包", en: "Scan to play" },
  scan_next: { zh: "扫码加入", en: "Scan to join" },
  qr_label: { zh: "加入活动的二维码：{address}", en: "QR code to join: {address}" },
  no_address: { zh: "手机打不开 localhost", en: "Phones can’t open localhost" },
  no_address_hint: {
    zh: "请用本机在局域网中的地址打开本页，或在本页地址后加上 ?join=手机可以打开的网址",
    en: "Open this page by the machine's network address, or add ?join= with an address that phones can open",
  },

  entering: { zh: "红包雨马上就来", en: "Red packets on their way" },
  none: { zh: "精彩即将开始", en: "Starting soon" },
  any_moment: { zh: "红包雨随时开始，请准备好手机", en: "It can start any moment. Have your phone ready" },
  stay: { zh: "下一场会在这里预告", en: "Watch here for the next rain" },
  next_rain: { zh: "下一场红包雨", en: "Next rain in" },
  paused_waiting: { zh: "活动暂停，马上回来", en: "Paused. Back in a moment" },

  get_ready: { zh: "准备好了吗", en: "Get ready" },
  how: { zh: "看到红包就快点", en: "Tap packets as they fall" },
  go: { zh: "抢!", en: "GO!" },
  paused: { zh: "稍等片刻", en: "Hold on" },
  paused_hint: { zh: "红包雨暂停，请稍候", en: "The rain is paused. Please wait" },
  sold_out: { zh: "全部抢光", en: "All packets are gone" },
  sold_out_hint: { zh: "{n} 个红包都有了主人", en: "All {n} packets have found an owner" },

  pool: { zh: "红包总额", en: "prize pool" },
  packets: { zh: "红包个数", en: "packets" },
  online: { zh: "在线人数", en: "online" },
  waiting: { zh: "排队人数", en: "in the queue" },
  left: { zh: "剩余红包", en: "packets left" },
  of: { zh: "共 {n} 个", en: "of {n}" },
  amount_won: { zh: "已抢金额", en: "won so far" },
  winners: { zh: "刚刚抢到", en: "Just won" },
  no_winners: { zh: "第一个会是谁", en: "Who will be first?" },

  board: { zh: "恭喜发财", en: "Congratulations!" },
  finale_closed: { zh: "圆满结束，感谢参与", en: "Thanks for playing" },
  finale_sold_out: { zh: "红包全部抢光，恭喜大家", en: "All packets are gone. Well done!" },
  given_round: { zh: "本场抢到", en: "caught" },
  amount_round: { zh: "本场金额", en: "given away" },
  players_round: { zh: "参与人数", en: "players" },
  given_all: { zh: "共抢到", en: "caught" },
  amount_all: { zh: "共发出", en: "given away" },
  top: { zh: "手气榜", en: "Top winners" },
  top_so_far: { zh: "累计手气榜", en: "Top winners so far" },
  no_top: { zh: "榜单即将揭晓", en: "Winners coming up" },
  nobody_won: { zh: "这一场没有人抢到红包", en: "No winners this time" },
  place: { zh: "第 {n} 名", en: "Place {n}" },

  guest: { zh: "游客 {id}", en: "Guest {id}" },

  away: { zh: "正在重新连接", en: "Reconnecting" },
  need_token: { zh: "大屏没有访问权限：请用 /screen#code=… 打开", en: "Access denied: open /screen#code=…" },
  unknown_campaign: { zh: "活动不存在：请检查 ?campaign=", en: "No such campaign: check ?campaign=" },
  refused: { zh: "连接被拒绝（{code}），正在重试", en: "Connection refused ({code}). Retrying" },
} satisfies Table;

/** Key is the name of a text. */
export type Key = keyof typeof strings;
