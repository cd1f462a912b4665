// Texts of who is signed in, what they may do, and what two people do together.

import type { Table } from "../../shared/i18n.ts";

export const people = {
  role_viewer: { zh: "只读", en: "viewer" },
  role_operator: { zh: "运营", en: "operator" },
  role_cashier: { zh: "出纳", en: "cashier" },
  role_admin: { zh: "管理员", en: "admin" },
  signedInAs: { zh: "当前登录：", en: "Signed in as" },
  shared: { zh: "共用令牌", en: "shared token" },
  sharedHint: { zh: "共用令牌不代表任何人：需要两个人的操作，它不能作为其中之一。", en: "A shared token is nobody’s own: where two people are needed it is neither of them." },

  needs_campaigns: { zh: "需要活动权限（运营或管理员）。", en: "This takes the right to run campaigns: an operator’s or an admin’s." },
  needs_deposits: { zh: "需要入账权限（出纳或管理员）。", en: "This takes the right to deposit: a cashier’s or an admin’s." },
  needs_withdrawals: { zh: "需要提现权限（出纳或管理员）。", en: "This takes the right to withdrawals: a cashier’s or an admin’s." },
  needs_approvals: { zh: "需要确认权限（出纳或管理员）。", en: "This takes the right to approve: a cashier’s or an admin’s." },
  needs_letters: { zh: "需要死信权限（出纳或管理员）。", en: "This takes the right to dead letters and held wins: a cashier’s or an admin’s." },
  needs_players: { zh: "需要玩家权限（运营或管理员）。", en: "This takes the right to players: an operator’s or an admin’s." },
} satisfies Table;
