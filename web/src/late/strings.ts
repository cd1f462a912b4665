// Texts of the late parts only, so that the page itself need not load them.

import type { Table } from "../shared/i18n.ts";

export const luck = {
  luck_fair: { zh: "本场 {n} 次机会，{lucky} 次中签，其中 {won} 次得到红包。结果与公布的一致", en: "Draws: {n}, lucky: {lucky}, packets won: {won}. All of it matches the published seed" },
  luck_full: { zh: "本场 {n} 次机会，{lucky} 次中签，其中 {won} 次得到红包；另外 {after} 次中签时，您已抢满。结果与公布的一致", en: "Draws: {n}, lucky: {lucky}, packets won: {won}. The other {after} came when you already had all your packets. All of it matches the published seed" },
  luck_missed: { zh: "本场 {n} 次机会，{lucky} 次中签，其中 {won} 次得到红包；另外 {missed} 次没有点到，或当时没有红包可抢。结果与公布的一致", en: "Draws: {n}, lucky: {lucky}, packets won: {won}. In the other {missed} you didn’t tap in time, or no packet was left. All of it matches the published seed" },
  luck_both: { zh: "本场 {n} 次机会，{lucky} 次中签，其中 {won} 次得到红包；另外 {rest} 次中签，{after} 次时您已抢满，{missed} 次没有点到或当时没有红包可抢。结果与公布的一致", en: "Draws: {n}, lucky: {lucky}, packets won: {won}. Of the other {rest}, {after} came when you already had all your packets, and in {missed} you didn’t tap in time, or no packet was left. All of it matches the published seed" },
  luck_unfair: { zh: "结果与公布的不一致：{claims}", en: "This doesn’t match the published seed: {claims}" },
  luck_wait: { zh: "结果还没有公布，请稍后再试", en: "The seed isn’t published yet. Try again in a moment" },
  luck_gone: { zh: "这场红包雨已经查不到了", en: "This rain is no longer available" },
  luck_failed: { zh: "暂时查不到，请稍后再试", en: "Can’t check right now. Try again" },
} satisfies Table;

export const posters = {
  poster_alt: { zh: "海报：抢到 ¥{amount}，扫码进入活动", en: "Poster: ¥{amount} won, with a QR code to join" },
  poster_won: { zh: "我抢到了 {n} 个红包", en: "I caught {n} packets" },
  poster_won_one: { zh: "我抢到了红包", en: "I caught a packet" },
  poster_scan: { zh: "扫码一起抢红包", en: "Scan to play" },
  poster_keep: { zh: "长按图片可保存。海报上没有您的个人信息", en: "Press and hold the image to save it. It doesn’t show who you are" },
  poster_keep_mouse: { zh: "海报上没有您的个人信息", en: "It doesn’t show who you are" },
} satisfies Table;

export const withdrawing = {
  withdraw_sure_wallet: { zh: "提现 ¥{amount}：将从余额扣除并记为已付，由主办方直接发给您。确定吗？", en: "¥{amount} will be taken off your balance and marked as paid. The host pays you directly. Continue?" },
  withdraw_sure_http: { zh: "提现 ¥{amount} 到主办方为您登记的收款账户。确定吗？", en: "Withdraw ¥{amount} to the account your host has on file?" },
  withdraw_sure_name: { zh: "提现 ¥{amount} 到：{name}。确定吗？", en: "Withdraw ¥{amount} to {name}?" },
  withdraw_sure: { zh: "提现 ¥{amount}，确定吗？", en: "Withdraw ¥{amount}?" },
  withdraw_busy: { zh: "提交中…", en: "Sending…" },
  withdraw_sent: { zh: "已申请提现 ¥{amount}", en: "Withdrawal of ¥{amount} requested" },
  w_err_amount: { zh: "请输入金额，例如 12.50", en: "Enter an amount, such as 12.50" },
  w_err_zero: { zh: "金额必须大于 0", en: "Enter more than 0" },
  w_err_over: { zh: "余额只有 ¥{amount}", en: "Your balance is only ¥{amount}" },
  w_err_funds: { zh: "余额不足，请核对后再试", en: "Your balance is too low. Check it and try again" },
  w_err_signin: { zh: "登录已失效，请重新进入活动", en: "Your sign-in has expired. Open the event again" },
  w_err_busy: { zh: "请求太多，请稍等再试", en: "Too many requests. Wait a moment and try again" },
  w_err_small: { zh: "低于单次最低提现金额", en: "That’s below the minimum withdrawal" },
  w_err_day: { zh: "超过每日提现上限，请减少金额或明天再试", en: "That’s over the daily limit. Withdraw less, or try again tomorrow" },
  w_err_hour: { zh: "提现太频繁，请一小时后再试", en: "Too many withdrawals. Try again in an hour" },
  w_err_guest: { zh: "游客不能提现，请用主办方的账号登录", en: "Guests cannot withdraw. Sign in with the host’s account" },
  w_err_payee: { zh: "请先登录收款账户，再提现", en: "Log in with the account that gets the money first" },
  w_err_again: { zh: "没有收到结果，请再点一次，不会重复提现", en: "No answer yet. Press again: you won’t withdraw twice" },
  w_err_other: { zh: "提现失败：{detail}", en: "The withdrawal failed: {detail}" },
} satisfies Table;

export const confirming = {
  transfer_scan: { zh: "确认收款 ¥{amount}", en: "Confirm ¥{amount}" },
  transfer_scan_text: { zh: "请用微信扫一扫，在微信里点「去确认收款」", en: "Scan with WeChat. Then tap “Confirm receipt” there" },
  transfer_code: { zh: "二维码：在微信里打开本页", en: "QR code that opens this page in WeChat" },
  transfer_failed: { zh: "二维码暂时无法显示，请稍后再试", en: "Can’t show the code right now. Try again in a moment" },
  transfer_old: { zh: "没有打开收款页面", en: "WeChat didn’t open the confirmation" },
  transfer_old_text: { zh: "请用手机微信打开，并更新到最新版本，再点一次", en: "Use WeChat on a phone, update it to the latest version, then tap again" },
} satisfies Table;

export const naming = {
  me_open: { zh: "以「{name}」参加", en: "Play as {name}" },
  me_edit: { zh: "改昵称", en: "Edit" },
  me_edit_label: { zh: "改昵称和头像", en: "Edit your name and picture" },
  me_title: { zh: "怎么称呼您？", en: "Choose your name" },
  me_name: { zh: "昵称", en: "Name" },
  me_face: { zh: "头像", en: "Picture" },
  me_draw: { zh: "换一个", en: "Another" },
  me_play: { zh: "进入", en: "Play" },
  me_save: { zh: "保存", en: "Save" },
  me_cancel: { zh: "取消", en: "Cancel" },
  me_refused: { zh: "这个昵称用不了，请换一个：最多 32 个字，不含特殊符号", en: "That name can’t be used. Try one with up to 32 ordinary characters" },
  me_failed: { zh: "没有保存成功，请稍后再试", en: "That didn’t work. Try again in a moment" },
  face_koi: { zh: "锦鲤", en: "Koi" },
  face_lantern: { zh: "灯笼", en: "Lantern" },
  face_blossom: { zh: "梅花", en: "Blossom" },
  face_tangerine: { zh: "金桔", en: "Tangerine" },
  face_ingot: { zh: "元宝", en: "Gold Ingot" },
  face_lion: { zh: "醒狮", en: "Lion" },
  face_cat: { zh: "招财猫", en: "Lucky Cat" },
  face_rabbit: { zh: "玉兔", en: "Jade Rabbit" },
} satisfies Table;
