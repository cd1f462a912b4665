// Texts of the frame: header, sign-in, list of campaigns.

import type { Table } from "../../shared/i18n.ts";

export const frame = {
  title: { zh: "redrain 控制台", en: "redrain console" },
  console: { zh: "控制台", en: "console" },
  skip: { zh: "跳到内容", en: "Skip to the content" },
  nav: { zh: "页面", en: "Pages" },
  campaigns: { zh: "活动", en: "Campaigns" },
  sponsors: { zh: "资金方", en: "Sponsors" },
  payouts: { zh: "死信", en: "Dead letters" },
  withdrawals: { zh: "提现", en: "Withdrawals" },
  reconciliation: { zh: "对账", en: "Reconciliation" },
  audit: { zh: "审计日志", en: "Audit log" },
  apipage: { zh: "接口", en: "API" },
  viewer: { zh: "只读", en: "View only" },
  viewerHint: { zh: "以查看者身份登录：可以查看一切，不能操作。", en: "Signed in with the viewer token: you see everything and can change nothing." },
  inProcess: { zh: "内存模式", en: "In-process" },
  inProcessHint: { zh: "使用进程内的后端：重启后数据可能丢失。", en: "The back ends are in this process: data may not survive a restart." },
  signOut: { zh: "退出", en: "Sign out" },
  otherLanguage: { zh: "English", en: "中文" },
  notFound: { zh: "没有这个页面。", en: "There is no such page." },
  toCampaigns: { zh: "回到活动", en: "Go to the campaigns" },

  signInTitle: { zh: "登录控制台", en: "Sign in to the console" },
  signInHint: { zh: "令牌在服务启动时设置（--operator-token、--viewer-token）；未设置时，服务会在启动日志里打印一个带令牌的控制台地址。", en: "The token was set when the server was started (--operator-token, --viewer-token). Where none was set, the server prints the console's address with a token in it at its start." },
  token: { zh: "操作员或查看者令牌", en: "Operator or viewer token" },
  signIn: { zh: "登录", en: "Sign in" },
  signingIn: { zh: "登录中…", en: "Signing in…" },
  needToken: { zh: "请输入令牌。", en: "Enter a token." },
  wrongToken: { zh: "服务器不认识这个令牌。请检查是否复制完整。", en: "The server does not know this token. Check that all of it was copied." },
  signedOut: { zh: "令牌已失效，请重新登录。", en: "The server does not know the token any more. Sign in again." },
  checking: { zh: "正在连接服务器…", en: "Asking the server…" },
} satisfies Table;
