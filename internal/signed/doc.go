// Package signed sends signed requests to the operator's systems, and verifies the signature of a received request.
// The form is that of Standard Webhooks (https://www.standardwebhooks.com), for which there are libraries in every
// usual language:
//
//	POST …
//	Content-Type: application/json
//	webhook-id: w4k…
//	webhook-timestamp: 1763712000                     Unix seconds, of this attempt
//	webhook-signature: v1,<base64 of HMAC-SHA256(key, "<id>.<timestamp>.<body>")>
package signed
