// Package api is the HTTP API under /api/v1. It has a table of routes (api.go), access rights (access.go), error
// answers (problem.go) and idempotency (body.go). Handlers follow, and the operators' event feed (events.go, feed.go).
// docs/openapi.yaml describes it for its users.
//
// A handler parses its request, calls another package, and returns the answer. It decides nothing.
package api
