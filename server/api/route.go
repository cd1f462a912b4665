package api

import (
	"net/http"
	"time"

	"redrain/server/timeout"
)

// access is who may call a route.
type access int

const (
	anyone   access = iota
	player          // a player's token
	viewer          // the viewer's or the operator's token
	operator        // the operator's token
)

// caller is who sent a request.
type caller struct {
	name string // for the audit log: "operator", "viewer", or the player's id
	role string // "operator", "viewer" or "player"
	user string // the player's id, "" for the others
}

// handler answers a request or returns the error that ends it.
type handler func(w http.ResponseWriter, r *http.Request, who caller) error

// route is one line of the contract's table.
type route struct {
	method, path string
	access       access
	handle       handler
	within       time.Duration // how long an answer may take; 0: what usual says
}

// unlimited is the time of what streams: each write of it has a deadline of its own.
const unlimited = -1

// usual is how long an answer may take: what only reads asks a back end a few questions.
func (rt route) usual() time.Duration {
	switch {
	case rt.within != 0:
		return rt.within
	case rt.method == http.MethodPost:
		return timeout.Command
	default:
		return timeout.Request
	}
}
