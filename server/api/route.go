package api

import (
	"net/http"
	"time"

	"redrain/server/timeout"
)

// handler answers a request or returns the error that ends it.
type handler func(w http.ResponseWriter, r *http.Request, who caller) error

// route is one line of the contract's table.
type route struct {
	method, path string
	need         right
	handle       handler
	within       time.Duration // how long an answer may take; 0: what usual says
}

// commands tells whether it is an operator's command, and not a question. What players may do too logs for itself.
func (rt route) commands() bool { return !rt.public() && rt.need != reading }

// public tells whether it is for others than operators.
func (rt route) public() bool { return rt.need == anyone || rt.need == player || rt.need == entering }

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
