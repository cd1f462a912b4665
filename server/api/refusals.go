package api

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/server/clientip"
)

// How many refusals there may be in a minute before they cost nothing but an answer.
const (
	wrongTokensAMinute = 10 // of one address; after them it is told to wait, and no more is logged
	// wrongTokensOfAll are those of all addresses, on all nodes, before everybody's wrong ones are told to wait and no
	// more is logged: a wrong token names nobody, so a guesser with many addresses is counted with all others.
	wrongTokensOfAll = 100
	recordsAMinute   = 10 // of one operator in the audit log; what is beyond has one together
)

// Why operators' requests are refused, as the metric has it.
const (
	refusedNoToken    = "no_token"
	refusedWrongToken = "wrong_token"
	refusedTooMany    = "too_many"    // of wrong tokens, from one address or from all
	refusedForbidden  = "forbidden"   // the role may not do this
	refusedUnrecorded = "unrecorded"  // of these, those that have one record together in the audit log
	refusedNotNow     = "unavailable" // whose token it is cannot be told for now
)

// refusals counts what is refused to operators and to who would like to be one.
type refusals struct{ total *prometheus.CounterVec }

func newRefusals(reg prometheus.Registerer) refusals {
	return refusals{newCounts(reg, prometheus.CounterOpts{
		Name: "redrain_operator_refusals_total",
		Help: "Requests on operators' paths that were refused, by reason: no_token, wrong_token, too_many (wrong " +
			"tokens from one address, or from all), forbidden (by role), unrecorded (of these, those that " +
			"the audit log has in one line a minute), unavailable.",
	}, "reason", refusedNoToken, refusedWrongToken, refusedTooMany, refusedForbidden, refusedUnrecorded, refusedNotNow)}
}

func (r refusals) count(reason string) { r.total.WithLabelValues(reason).Inc() }

// refuseToken answers a request whose token is no operator's. Only those are slowed: who has a good one from the same
// address is served. why holds no part of the token.
func (a *API) refuseToken(w http.ResponseWriter, r *http.Request, token string, why error) error {
	if token == "" {
		a.refusals.count(refusedNoToken)
		return errUnauthorized
	}
	ok, after := a.allowed(r.Context(), "wrong-token", clientip.RequestKey(r), wrongTokensAMinute)
	if !ok && after > 0 {
		a.refusals.count(refusedTooMany)
		return tooMany(w, after, "too many wrong tokens from this address; try again shortly")
	}
	if ok {
		if ok, after = a.allowed(r.Context(), "wrong-tokens", "all", wrongTokensOfAll); !ok && after > 0 {
			a.refusals.count(refusedTooMany)
			return tooMany(w, after, "too many wrong tokens, from all addresses together; try again shortly")
		}
	}
	a.refusals.count(refusedWrongToken)
	if ok {
		a.o.Log.Warn("a wrong operator's token", "method", r.Method, "path", r.URL.Path, "addr", clientip.RequestKey(r),
			"why", why)
	}
	return errUnauthorized
}

// refuseRight refuses what an operator's role does not allow, and puts it on record.
func (a *API) refuseRight(r *http.Request, who caller, need right) error {
	a.refusals.count(refusedForbidden)
	if ok, _ := a.allowed(r.Context(), "refused", who.name, recordsAMinute); ok {
		a.audit(r, who, "refused", r.Method+" "+r.URL.Path, map[string]any{"right": need})
	} else {
		a.refusals.count(refusedUnrecorded)
		a.overflow.note(r, who)
	}
	return refuse(http.StatusForbidden, "forbidden", "this needs the right "+string(need)+
		", which the role "+who.role+" does not have")
}

// allowed tells whether one more is within a limit per minute, over all nodes, and if not, after which time it will be.
// While Redis cannot be asked each node counts by itself, so that guesses are slowed, logged and recorded then too.
func (a *API) allowed(ctx context.Context, name, key string, aMinute float64) (ok bool, after time.Duration) {
	ok, after, err := a.o.Limits.Allow(ctx, name, key, aMinute/60, aMinute)
	if err != nil {
		a.o.Log.Debug("a limit could not be asked, and is this node's own", "limit", name, "err", err)
		return a.local.allow(name+" "+key, aMinute, a.o.Clock())
	}
	return ok, after
}
