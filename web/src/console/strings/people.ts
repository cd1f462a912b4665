// Texts of the signed-in operator, the operator's rights, and operations of two people.

import type { Table } from "../../shared/i18n.ts";

export const people = {
  role_viewer: { zh: "只读", en: "viewer" },
  role_operator: { zh: "运营", en: "operator" },
  role_cashier: { zh: "出纳", en: "cashier" },
  role_admin: { zh: "管理员", en: "admin" },
  signedInAs: { zh: "当前登录：", en: "Signed in as" },
  shared: { zh: "共用令牌", en: "shared token" },
  sharedHint: { zh: "共用令牌不代表任何个人：需要两人完成的操作，不能用它发起或确认。", en: "A shared token identifies no person: it cannot request or confirm actions that take two people." },

  needs_campaigns: { zh: "需要活动权限（运营或管理员）。", en: "You need the operator or admin role." },
  needs_deposits: { zh: "需要入账权限（出纳或管理员）。", en: "You need the cashier or admin role." },
  needs_withdrawals: { zh: "需要提现权限（出纳或管理员）。", en: "You need the cashier or admin role." },
  needs_approvals: { zh: "需要确认权限（出纳或管理员）。", en: "You need the cashier or admin role." },
  needs_letters: { zh: "需要异常款项权限（出纳或管理员）。", en: "You need the cashier or admin role." },
  needs_players: { zh: "需要玩家权限（运营或管理员）。", en: "You need the operator or admin role." },
} satisfies Table;
