// Package webhook pays withdrawals through another system over HTTP: it is the payment provider "http".
//
// A payment is a signed POST. Its form is that of Standard Webhooks (https://www.standardwebhooks.com), for which there
// are libraries in every usual language, with the Idempotency-Key beside it:
//
//	POST …
//	Content-Type: application/json
//	Idempotency-Key: w4k…                             the withdrawal: however often it comes, it is paid once
//	webhook-id: w4k…                                  the same
//	webhook-timestamp: 1763712000                     Unix seconds, of this try
//	webhook-signature: v1,<base64 of HMAC-SHA256(key, "<id>.<timestamp>.<body>")>
//
//	{"id":"w4k…","user":"u1","amount":250,"currency":"CNY","created_at":1763712000000}
//
// docs/use/payments.md is for authors of a receiver. The one rule of this package: it trusts only a clear answer.
// After any other result, and after no answer, it asks again.
package webhook
