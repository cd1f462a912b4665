// Texts of the primitives: buttons, states, and faults that are possible everywhere.

import type { Table } from "../../shared/i18n.ts";

export const ui = {
  cancel: { zh: "取消", en: "Cancel" },
  close: { zh: "关闭窗口", en: "Close this window" },
  dismiss: { zh: "知道了", en: "Dismiss" },
  working: { zh: "处理中…", en: "Working…" },
  retry: { zh: "重试", en: "Try again" },
  loading: { zh: "加载中…", en: "Loading…" },
  more: { zh: "加载更多", en: "Load more" },
  shownSoFar: { zh: "已显示 {n} 条", en: "{n} shown so far" },
  shownAll: { zh: "共 {n} 条", en: "{n} in all" },
  copied: { zh: "已复制", en: "Copied" },
  copyFailed: { zh: "复制失败，请手动选择", en: "Copy failed: select it by hand" },
  typeName: { zh: "请输入活动名称以确认：", en: "To confirm, type the campaign name:" },

  state_loading: { zh: "备货中", en: "stocking" },
  state_ready: { zh: "就绪", en: "ready" },
  state_raining: { zh: "红包雨中", en: "raining" },
  state_paused: { zh: "已暂停", en: "paused" },
  state_closed: { zh: "已关闭", en: "closed" },
  state_countdown: { zh: "即将开始", en: "countdown" },
  state_falling: { zh: "进行中", en: "falling" },
  state_ended: { zh: "已结束", en: "ended" },
  state_checked: { zh: "审核中", en: "under review" },
  state_granted: { zh: "待入账", en: "granted" },
  state_settled: { zh: "已入账", en: "settled" },
  state_failed: { zh: "失败", en: "failed" },
  state_dead: { zh: "异常", en: "needs review" },
  state_pending: { zh: "处理中", en: "pending" },
  state_paid: { zh: "已打款", en: "paid" },
  state_requested: { zh: "已申请", en: "requested" },
  state_held: { zh: "已暂扣", en: "held" },
  state_sent: { zh: "已发出", en: "sent" },
  state_action_required: { zh: "待玩家确认", en: "player must confirm" },
  state_refused: { zh: "被拒绝", en: "refused" },
  state_returned: { zh: "已退回", en: "returned" },

  fault_unreachable: { zh: "无法连接服务器。请检查网络后重试。", en: "The server is unreachable. Check the network and try again." },
  fault_unsure: { zh: "没有收到服务器的响应，操作可能已执行。可以放心重试，不会重复执行。", en: "The server’s answer was lost; the action may be done. Pressing again is safe: it runs only once." },
  fault_page: { zh: "页面出错：{what}", en: "Page error: {what}" },
} satisfies Table;
