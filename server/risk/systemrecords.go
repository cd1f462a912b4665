package risk

import (
	"context"
	"sync"

	"redrain/payout/ledger"
	"redrain/payout/ledger/standing"
	"redrain/server/timeout"
)

// records writes verdicts down, those of one moment together: an outage with --risk-default hold gives one to each
// newcomer, and each transaction has to wait for the one before.
type records struct {
	to   Verdicts
	told func()
	turn chan struct{} // holds one element while somebody writes

	mu   sync.Mutex
	next *page // is written when it is its turn
}

// page is what is written together.
type page struct {
	verdicts []standing.Verdict
	written  bool // is read and set by whose turn it is
	err      error
}

// maxPage is how many verdicts wait to be written at most; who comes then is turned away.
const maxPage = 1000

func newRecords(to Verdicts, told func()) *records {
	return &records{to: to, told: told, turn: make(chan struct{}, 1), next: &page{}}
}

// write returns when a verdict is committed. Who comes while another one is written goes with the next.
func (r *records) write(ctx context.Context, v standing.Verdict) error {
	p, fits := r.add(v)
	if !fits {
		if err := r.clear(ctx, p); err != nil {
			return err
		}
		if p, fits = r.add(v); !fits {
			return errBusy
		}
	}
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err() // whoever's turn it is writes it
	}
	defer func() { <-r.turn }()
	return r.commit(ctx, p)
}

// add puts a verdict on the page that is written next. It does not fit where too many are on it already.
func (r *records) add(v standing.Verdict) (p *page, fits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p = r.next; len(p.verdicts) >= maxPage {
		return p, false
	}
	p.verdicts = append(p.verdicts, v)
	return p, true
}

// clear writes a full page, unless somebody writes: all who waited for it may have given up.
func (r *records) clear(ctx context.Context, p *page) error {
	select {
	case r.turn <- struct{}{}:
	default:
		return errBusy
	}
	defer func() { <-r.turn }()
	return r.commit(ctx, p)
}

// commit writes a page, once. It needs r.turn.
func (r *records) commit(ctx context.Context, p *page) error {
	if p.written {
		return p.err
	}
	r.mu.Lock()
	r.next = &page{}
	r.mu.Unlock()
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout.Backend) // others wait for it too
	defer cancel()
	fresh, err := r.to.Give(limit, ledger.ByService, p.verdicts...)
	p.written, p.err = true, err
	if fresh > 0 {
		r.told()
	}
	return err
}
