// Texts of the line under the head of every page, and of the list of alarms.

import type { Table } from "../../shared/i18n.ts";

export const status = {
  label: { zh: "状态", en: "Status" },
  proved: { zh: "账目相符，最近一次对账", en: "Books balance, proved last" },
  wrong: { zh: "账目不符，最近一次对账", en: "The books do not balance, proved last" },
  stale: { zh: "（太久没有对账）", en: "(too long ago)" },
  never: { zh: "还没有对过账", en: "The books were not proved yet" },
  alarms: { zh: "{n} 个警报", en: "{n} {n|alarm|alarms}" },
  noAlarms: { zh: "没有警报", en: "No alarm" },
  zone: { zh: "时间均为 {zone}", en: "Times are in {zone}" },

  title: { zh: "警报", en: "Alarms" },
  lead: { zh: "过去一天里需要人处理的事。重启后从日志和监控中查看更早的。", en: "What needed a person within the last day. Older ones, and those of before a restart, are in the log and the metrics." },
  none: { zh: "没有警报", en: "There is no alarm" },
  code: { zh: "种类", en: "Kind" },
  campaign: { zh: "活动", en: "Campaign" },
  message: { zh: "说明", en: "What" },
  first: { zh: "最早", en: "First" },
  last: { zh: "最近", en: "Last" },
  times: { zh: "次数", en: "Times" },
  reload: { zh: "刷新", en: "Reload" },

  code_reconciliation: { zh: "账目不符", en: "Books do not balance" },
  code_dead_letter: { zh: "死信", en: "Dead letter" },
  code_state_lost: { zh: "Redis 丢失数据", en: "Redis has lost data" },
  code_redis_went_back: { zh: "Redis 回到了过去", en: "Redis went back in time" },
  code_withdrawal: { zh: "提现", en: "Withdrawal" },
  code_panic: { zh: "程序出错", en: "A fault of the program" },
  code_forged: { zh: "伪造的消息", en: "A forged message" },
  code_void_win: { zh: "作废的中奖", en: "A void win" },
  code_stream_changed: { zh: "消息流被改动", en: "The stream was changed" },
  code_escrow_not_cleared: { zh: "活动账户未清", en: "Escrow is not cleared" },
  code_move_refused: { zh: "库存移动被拒绝", en: "A move of stock was refused" },
  code_risk_url: { zh: "风控系统不应答", en: "The risk system does not answer" },
  code_ledger_went_back: { zh: "账本回到了过去", en: "The ledger went back in time" },
  code_provider_changed: { zh: "提现的收款方换了", en: "The receiver of withdrawals has changed" },
  code_reclaim_cut: { zh: "退回被削减", en: "A return of stock was cut" },
  code_max_deliveries: { zh: "消息不再投递", en: "A message is not delivered any more" },
  code_message_terminated: { zh: "消息被移除", en: "A message was taken out of sight" },
  code_lease_dated: { zh: "时钟错误的租约", en: "A lease dated into the future" },
} satisfies Table;
