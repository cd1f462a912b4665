// Package wechatpay pays withdrawals through WeChat Pay's merchant transfers (商家转账): it is the payment provider
// "wechat". The player confirms each transfer in WeChat within 24 hours.
//
// It implements these public documents of API v3:
//
//   - create a transfer: https://pay.weixin.qq.com/docs/merchant/apis/mch-trans/transfer-bill/transfer-to-user.html
//   - query it by our number: get-transfer-bill-by-out-no.html beside it
//   - reasons of failures: https://pay.weixin.qq.com/doc/v3/merchant/4013774966
//   - notifications: https://pay.weixin.qq.com/doc/v3/merchant/4012712115
//
// Three of their rules decide about money:
//
//   - An error of HTTP says nothing about the transfer, and a new error code is never a reason for another number. So
//     every error is unclear here, and only the state of a transfer ends a withdrawal.
//   - The number of a transfer (out_bill_no) is the withdrawal's id. A repeated request finds the same transfer.
//   - Transfers of the last 30 days can be queried. Later only a person decides, by the merchant's fund bill.
package wechatpay
