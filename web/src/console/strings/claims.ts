// Texts of the lists of claims, and of a player's page.

import type { Table } from "../../shared/i18n.ts";

export const claims = {
  title: { zh: "中奖记录", en: "Claims" },
  find: { zh: "查找", en: "Find" },
  user: { zh: "玩家", en: "Player" },
  packet: { zh: "红包号", en: "Packet" },
  nickname: { zh: "昵称", en: "Nickname" },
  claim: { zh: "记录号", en: "Claim" },
  amount: { zh: "金额", en: "Amount" },
  at: { zh: "中奖时间", en: "Won at" },
  state: { zh: "状态", en: "State" },
  anyState: { zh: "全部", en: "All" },
  clear: { zh: "清除条件", en: "Clear" },
  exact: { zh: "完整的玩家 ID", en: "Full player ID" },
  reload: { zh: "刷新", en: "Reload" },
  none: { zh: "还没有人中奖", en: "No wins yet" },
  noneText: { zh: "开始一场红包雨后，中奖记录会出现在这里。", en: "Wins appear here once a rain has started." },
  noMatch: { zh: "没有符合条件的记录", en: "No claims match" },
  noMatchText: { zh: "玩家 ID 和红包号需要完整匹配。可以清除条件查看全部。", en: "Player and packet must match exactly. Clear the filters to see all." },
  badPacket: { zh: "红包号是从 1 开始的整数", en: "Enter a whole number from 1" },

  csv: { zh: "下载 CSV", en: "Download CSV" },
  csvBusy: { zh: "已下载 {rows} 行（{size}）", en: "{rows} {rows|row|rows} so far ({size})" },
  csvStop: { zh: "停止", en: "Stop" },
  csvDone: { zh: "{file}：{rows} 行，{size}。", en: "{file}: {rows} {rows|row|rows}, {size}." },
  csvCut: { zh: "下载中断，文件不完整。请重新下载。", en: "Download interrupted; the file is incomplete. Download it again." },
  csvFile: { zh: "数据会直接写入您选择的文件，几百万行也没问题。", en: "Rows are written straight to the file you choose; millions are fine." },
  csvMemory: { zh: "此浏览器会先把文件放进内存。超过约一百万行时，请用 Chrome 或 Edge，或 API 页上的 curl 命令。", en: "This browser keeps the file in memory first. For over a million rows, use Chrome, Edge, or curl from the API page." },
  csvMore: { zh: "包含全部记录；amount_yuan 为金额（元），time 为时间（UTC）。", en: "All claims. The column amount_yuan is in yuan; time is in UTC." },
  csvFiltered: { zh: "按上面的条件筛选；amount_yuan 为金额（元），time 为时间（UTC）。", en: "The filters above apply. The column amount_yuan is in yuan; time is in UTC." },

  userTitle: { zh: "玩家 {user}", en: "Player {user}" },
  copyUser: { zh: "复制玩家 ID", en: "Copy ID" },
  campaign: { zh: "活动", en: "Campaign" },
  userClaims: { zh: "中奖记录", en: "Claims" },
  userWithdrawals: { zh: "提现", en: "Withdrawals" },
  userNone: { zh: "这位玩家还没有中奖", en: "This player has not won anything yet" },
  userNoneText: { zh: "请核对玩家 ID，区分大小写。", en: "Check the ID; it is case-sensitive." },
} satisfies Table;
