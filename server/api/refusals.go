package api

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/server/clientip"
)

// The refusals in a minute after which further ones cost an answer only.
const (
	wrongTokensAMinute = 10 // of one address; more get "too many", and are not logged
	// wrongTokensOfAll is the limit of all addresses together, on all nodes; more get "too many", and are not logged. A
	// wrong token has no owner, so a guesser with many addresses can be counted only with all others.
	wrongTokensOfAll = 100
	recordsAMinute   = 10 // of one operator in the audit log; more are only counted
)

// newRefusals returns the counter of refused requests on operators' paths.
func newRefusals(reg prometheus.Registerer) *prometheus.CounterVec {
	return newCounts(reg, prometheus.CounterOpts{
		Name: "redrain_operator_refusals_total",
		Help: "Requests on operators' paths that were refused, by reason: no_token, wrong_token, too_many (wrong " +
			"tokens from one address, or from all), forbidden (by role), unrecorded (of these, those that " +
			"the audit log does not have), unavailable.",
	}, "reason", "no_token", "wrong_token", "too_many", "forbidden", "unrecorded", "unavailable")
}

// refused counts a refused request.
func (a *API) refused(reason string) { a.refusals.WithLabelValues(reason).Inc() }

// refuseToken answers a request with a wrong operator's token. Only those are limited: a valid token from the same
// address is served. why holds no part of the token.
func (a *API) refuseToken(q *request, token string, why error) error {
	if token == "" {
		a.refused("no_token")
		return errUnauthorized
	}
	address := clientip.RequestKey(q.Request)
	ok, after := a.allowed(q.Context(), "wrong-token", address, wrongTokensAMinute)
	if ok {
		ok, after = a.allowed(q.Context(), "wrong-tokens", "all", wrongTokensOfAll)
	}
	if !ok && after > 0 {
		a.refused("too_many")
		return q.tooMany(after, "too many wrong tokens; try again shortly")
	}
	a.refused("wrong_token")
	if ok {
		a.o.Log.WarnContext(q.Context(), "a wrong operator's token", "method", q.Method, "path", q.URL.Path, "addr",
			address, "why", why)
	}
	return errUnauthorized
}

// refuseRight refuses a request that the operator's role does not allow, and records it.
func (a *API) refuseRight(q *request, need right) error {
	a.refused("forbidden")
	if ok, _ := a.allowed(q.Context(), "refused", q.name, recordsAMinute); ok {
		a.audit(q, "refused", q.Method+" "+q.URL.Path, detail{"right": need})
	} else {
		a.refused("unrecorded")
		a.o.Log.WarnContext(q.Context(), "a forbidden request is not in the audit", "name", q.name, "method",
			q.Method, "path", q.URL.Path)
	}
	return refuse(http.StatusForbidden, "forbidden", "this needs the right "+need+
		", which the role "+q.role+" does not have")
}

// allowed reports whether a limit per minute, over all nodes, allows one more, and if not, after which time it will.
// While Redis does not answer, this node allows some of all limits together, and after is 0.
func (a *API) allowed(ctx context.Context, name, key string, aMinute float64) (ok bool, after time.Duration) {
	ok, after, err := a.o.Limits.Allow(ctx, name, key, aMinute/60, aMinute)
	if err != nil {
		a.o.Log.DebugContext(ctx, "read a limit; this node counts by itself", "limit", name, "err", err)
		return a.spare.Allow(), 0
	}
	return ok, after
}
