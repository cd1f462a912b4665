package api

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/internal/loop"
	"redrain/payout/ledger"
	"redrain/server/clientip"
	"redrain/server/timeout"
)

// The refusals in a minute after which further ones cost an answer only.
const (
	wrongTokensAMinute = 10 // of one address; more get "too many", and are not logged
	// wrongTokensOfAll is the limit of all addresses together, on all nodes; more get "too many", and are not logged. A
	// wrong token has no owner, so a guesser with many addresses can be counted only with all others.
	wrongTokensOfAll = 100
	recordsAMinute   = 10 // of one operator in the audit log; more share one record
)

// Reasons for refusing operators' requests, the label of the metric.
const (
	refusedNoToken    = "no_token"
	refusedWrongToken = "wrong_token"
	refusedTooMany    = "too_many"    // wrong tokens from one address, or from all
	refusedForbidden  = "forbidden"   // by the role
	refusedUnrecorded = "unrecorded"  // those of them that share one record in the audit log
	refusedNotNow     = "unavailable" // the token cannot be checked for now
)

// refusals counts refused requests on operators' paths.
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

// refuseToken answers a request with a wrong operator's token. Only those are limited: a valid token from the same
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

// refuseRight refuses a request that the operator's role does not allow, and records it.
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

// allowed reports whether a limit per minute, over all nodes, allows one more, and if not, after which time it will.
// While Redis does not answer each node counts by itself.
func (a *API) allowed(ctx context.Context, name, key string, aMinute float64) (ok bool, after time.Duration) {
	ok, after, err := a.o.Limits.Allow(ctx, name, key, aMinute/60, aMinute)
	if err != nil {
		a.o.Log.Debug("read a limit; this node counts by itself", "limit", name, "err", err)
		return a.local.allow(name+" "+key, aMinute, a.o.Clock())
	}
	return ok, after
}

// overflow holds the refused requests of operators beyond those with their own records. So each refused request is in
// the audit log, and a flood writes a line a minute. The operators have valid tokens.
type overflow struct {
	mu sync.Mutex
	of map[string]*beyond // by the operator's name
}

// beyond holds the refused requests of one operator.
type beyond struct {
	role, address string // of the last one
	count         int
	first, last   string // method and path
}

// note counts one more request.
func (o *overflow) note(r *http.Request, who caller) {
	o.mu.Lock()
	defer o.mu.Unlock()
	what := r.Method + " " + r.URL.Path
	b := o.of[who.name]
	if b == nil {
		b = &beyond{first: what}
		if o.of == nil {
			o.of = map[string]*beyond{}
		}
		o.of[who.name] = b
	}
	b.role, b.address, b.last = who.role, clientip.RequestKey(r), what
	b.count++
}

// take returns the requests and clears them.
func (o *overflow) take() map[string]*beyond {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.of
	o.of = nil
	return all
}

// putBack adds requests whose record could not be written.
func (o *overflow) putBack(name string, b *beyond) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if since := o.of[name]; since != nil {
		since.count, since.first = since.count+b.count, b.first
		return
	}
	if o.of == nil {
		o.of = map[string]*beyond{}
	}
	o.of[name] = b
}

// RecordRefusals records the overflow each minute and when ctx ends.
func (a *API) RecordRefusals(ctx context.Context) error {
	err := loop.Run(ctx, loop.Spec{Part: "refusals", Every: time.Minute, Do: loop.Plain(a.recordRefusals),
		Recoverer: a.o.Recoverer, Log: a.o.Log})
	a.recordRefusals(context.WithoutCancel(ctx))
	return err
}

func (a *API) recordRefusals(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, timeout.Backend)
	defer cancel()
	var failed error
	for name, b := range a.overflow.take() {
		err := a.o.Audit.Audit(ctx, ledger.AuditRecord{Actor: name, Role: b.role, Action: "refused", Target: b.last,
			Detail: encode(map[string]any{"more": b.count, "first": b.first, "address": b.address})})
		if err != nil {
			a.overflow.putBack(name, b)
			failed = errors.Join(failed, err)
		}
	}
	if failed != nil {
		a.o.Log.Error("record refused requests; retrying in a minute", "err", failed)
	}
}

// localKeys is the number of names and addresses that a node counts by itself in a minute; it refuses further ones.
const localKeys = 10_000

// localLimits counts on this node alone, in calendar minutes, while Redis does not answer. The zero value is usable.
type localLimits struct {
	mu     sync.Mutex
	minute int64
	taken  map[string]float64
}

// allow reports whether the limit of this minute allows one more of a key, and if not, when the next minute begins. now
// is Unix ms.
func (l *localLimits) allow(key string, most float64, now int64) (ok bool, after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	minute := time.Minute.Milliseconds()
	if l.taken == nil || l.minute != now/minute {
		l.minute, l.taken = now/minute, map[string]float64{}
	}
	if _, known := l.taken[key]; (known || len(l.taken) < localKeys) && l.taken[key] < most {
		l.taken[key]++
		return true, 0
	}
	return false, time.Duration(minute-now%minute) * time.Millisecond
}
