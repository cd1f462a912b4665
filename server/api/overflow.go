package api

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"redrain/internal/loop"
	"redrain/payout/ledger"
	"redrain/server/clientip"
	"redrain/server/timeout"
)

// overflow is what was refused to operators since the last record, beyond what has records of its own. So each refused
// request is in the audit log, and a flood of them writes a line a minute. The names are those of good tokens.
type overflow struct {
	mu sync.Mutex
	of map[string]*beyond // by the operator's name
}

// beyond is what one operator was refused.
type beyond struct {
	role, address string // of the last one
	count         int
	first, last   string // method and path
}

// note counts one more.
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

// take empties it.
func (o *overflow) take() map[string]*beyond {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.of
	o.of = nil
	return all
}

// putBack adds what could not be written to what has come since.
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

// RecordRefusals puts on record, each minute and when ctx ends, what was refused to operators beyond what has records
// of its own.
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
		a.o.Log.Error("refused requests could not be recorded; tried again in a minute", "err", failed)
	}
}
