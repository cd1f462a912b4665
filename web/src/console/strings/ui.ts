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
  state_granted: { zh: "待入账", en: "granted" },
  state_settled: { zh: "已入账", en: "settled" },
  state_failed: { zh: "失败", en: "failed" },
  state_dead: { zh: "死信", en: "dead" },
  state_pending: { zh: "处理中", en: "pending" },
  state_paid: { zh: "已打款", en: "paid" },

  fault_unreachable: { zh: "连不上服务器。请检查网络后重试。", en: "The server cannot be reached. Check the network, then try again." },
  fault_unavailable: { zh: "服务暂时不可用（{what}）。请稍后重试。", en: "The server cannot do this just now ({what}). Try again in a moment." },
  fault_forbidden: { zh: "当前令牌只能查看，不能操作。请用操作员令牌登录。", en: "This token may only look. Sign in with the operator token to act." },
  fault_unauthorized: { zh: "令牌已失效，请重新登录。", en: "The server does not know this token any more. Sign in again." },
  fault_unknown_campaign: { zh: "没有这个活动。", en: "There is no such campaign." },
  fault_page: { zh: "页面出错：{what}", en: "This page has a fault: {what}" },
} satisfies Table;
