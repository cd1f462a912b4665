// Package signed sends signed requests to systems of the operator's, and tells a receiver whether a request is from who
// knows the secret. The form is that of Standard Webhooks (https://www.standardwebhooks.com), for which there are
// libraries in every usual language:
//
//	POST …
//	Content-Type: application/json
//	webhook-id: w4k…
//	webhook-timestamp: 1763712000                     Unix seconds, of this try
//	webhook-signature: v1,<base64 of HMAC-SHA256(key, "<id>.<timestamp>.<body>")>
package signed
