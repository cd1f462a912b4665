// Texts of the sponsors' page and of deposits.

import type { Table } from "../../shared/i18n.ts";

export const sponsors = {
  title: { zh: "出资方", en: "Sponsors" },
  lead: { zh: "活动的预算从出资方的余额转出；活动结束后，剩余金额退回这里。", en: "A campaign’s budget comes from a sponsor’s balance, and the remainder returns there." },
  sponsor: { zh: "出资方", en: "Sponsor" },
  balance: { zh: "余额", en: "Balance" },
  actions: { zh: "操作", en: "Actions" },
  empty: { zh: "还没有出资方", en: "No sponsors yet" },
  emptyText: { zh: "第一笔入账会自动创建出资方。", en: "The first deposit creates one." },
  campaignFor: { zh: "新建活动", en: "New campaign" },
  deposit: { zh: "入账", en: "Deposit" },
  depositTitle: { zh: "为出资方入账", en: "Deposit for a sponsor" },
  depositNote: { zh: "凭证号唯一标识一笔款项：同一凭证号只记一次，重复提交不会多记。", en: "The reference identifies the payment: the same reference counts only once." },
  amount: { zh: "金额（元）", en: "Amount, ¥" },
  reference: { zh: "凭证号", en: "Reference" },
  referenceHint: { zh: "例如银行流水号或发票号", en: "Such as a bank or invoice number" },
  doDeposit: { zh: "入账 {amount}", en: "Deposit {amount}" },
  cancel: { zh: "取消", en: "Cancel" },
  deposited: { zh: "已为 {sponsor} 入账 {amount}，余额 {balance}。", en: "{amount} deposited for {sponsor}. Balance: {balance}." },
} satisfies Table;
