// Texts of the primitives: buttons, states, faults that may come anywhere.

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
  copyFailed: { zh: "复制失败，请手动选择", en: "Not copied: select it by hand" },
  typeName: { zh: "请输入活动名称以确认：", en: "To confirm, type the name of the campaign:" },

  state_loading: { zh: "备货中", en: "stocking" },
  state_ready: { zh: "就绪", en: "ready" },
  state_raining: { zh: "红包雨中", en: "raining" },
  state_paused: { zh: "已暂停", en: "paused" },
  state_closed: { zh: "已关闭", en: "closed" },
  state_countdown: { zh: "即将开始", en: "countdown" },
  state_falling: { zh: "进行中", en: "falling" },
  state_ended: { zh: "已结束", en: "ended" },
  state_checked: { zh: "核对中", en: "being checked" },
  state_granted: { zh: "待入账", en: "granted" },
  state_settled: { zh: "已入账", en: "settled" },
  state_failed: { zh: "失败", en: "failed" },
  state_dead: { zh: "死信", en: "dead" },
  state_pending: { zh: "处理中", en: "pending" },
  state_paid: { zh: "已打款", en: "paid" },
  state_requested: { zh: "已申请", en: "requested" },
  state_held: { zh: "已暂扣", en: "held" },
  state_sent: { zh: "已发出", en: "sent" },
  state_action_required: { zh: "待玩家确认", en: "player must confirm" },
  state_refused: { zh: "被拒绝", en: "refused" },
  state_returned: { zh: "已退回", en: "returned" },

  fault_unreachable: { zh: "连不上服务器。请检查网络后重试。", en: "The server cannot be reached. Check the network, then try again." },
  fault_unsure: { zh: "没有收到服务器的答复，可能已经执行。再按一次是安全的：不会执行两次。", en: "The server’s answer was lost, and it may have been done. Pressing again is safe: it is done once." },
  fault_page: { zh: "页面出错：{what}", en: "This page has a fault: {what}" },
} satisfies Table;
