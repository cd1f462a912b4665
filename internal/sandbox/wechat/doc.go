// Package wechat simulates WeChat Pay's merchant transfers, as their public documents describe them: see package
// wechatpay for the list. Its money is play money. Tests and --demo-payments use it.
//
// It verifies each request's signature and time, and makes a number's transfer once. It waits for the player, and
// closes transfers after 24 hours. It refuses more than 100 requests a second, and signs its answers and
// notifications. Its own code signs, so that a mistake of the provider does not hide.
package wechat
