package health

import (
	"net/http"
	"sync/atomic"

	"redrain/server/api"
	"redrain/server/campaigns"
)

// Live answers that the process is alive.
func Live(w http.ResponseWriter, _ *http.Request) {
	api.WriteJSON(w, http.StatusOK, readiness{Status: "ok"})
}

// Readiness answers whether newcomers can play on this node. All fields are required.
type Readiness struct {
	Monitor  *Monitor
	Proved   func() *campaigns.Proved // the last reconciliations; nil if this node does not know them
	Full     func() bool              // whether no connection is free
	Draining atomic.Bool              // the node ends
}

type readiness struct {
	Status  string      `json:"status"`
	Missing []string    `json:"missing,omitempty"`
	Books   *provedWhen `json:"books,omitempty"`
}

// provedWhen has the times of the last reconciliations. An old one raises an alarm, and the node stays in service:
// players can play.
type provedWhen struct {
	ProvedAt int64 `json:"proved_at"` // Unix ms of the last full one; 0: not yet
	Oldest   int64 `json:"oldest"`    // Unix ms, of the live campaign reconciled the longest ago; 0: no campaign
	Stale    bool  `json:"stale"`     // one of these is too old
}

// ServeHTTP answers from the last results of the checks. With ?all a missing back end is a 503, whatever it is for.
func (r *Readiness) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var answer readiness
	if is := r.Proved(); is != nil {
		answer.Books = &provedWhen{ProvedAt: is.Everything.ProvedAt, Oldest: is.Oldest, Stale: is.Stale}
	}
	missing, playable := r.Monitor.Missing()
	status := http.StatusServiceUnavailable
	switch {
	case r.Draining.Load():
		answer = readiness{Status: "draining"}
	case !playable, len(missing) > 0 && req.URL.Query().Has("all"):
		answer.Status, answer.Missing = "unready", missing
	case r.Full(): // connected players stay; a load balancer sends new ones to other nodes
		answer.Status = "full"
	case len(missing) > 0:
		status, answer.Status, answer.Missing = http.StatusOK, "degraded", missing
	default:
		status, answer.Status = http.StatusOK, "ready"
	}
	api.WriteJSON(w, status, answer)
}
