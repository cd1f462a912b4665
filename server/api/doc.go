// Package api is the HTTP API under /api/v1: one table of routes (api.go), who may call them (access.go), how errors
// are answered (problem.go), requests that are sent twice (body.go), the handlers, and the operators' event feed
// (events.go, feed.go). docs/openapi.yaml describes it for its users.
//
// A handler reads its request, asks one of the other packages, and writes the answer. It decides nothing.
package api
