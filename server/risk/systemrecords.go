package risk

import (
	"context"
	"sync"

	"redrain/internal/loop"
	"redrain/payout/ledger"
	"redrain/payout/ledger/standing"
	"redrain/server/timeout"
)

// records writes verdicts in batches: an outage with --risk-default hold creates one for each newcomer, and each
// transaction waits for the one before.
type records struct {
	to        Verdicts
	told      func()
	recoverer *loop.Recoverer

	mu      sync.Mutex
	next    *page // written after the current page
	writing bool  // run is running
}

// page is a batch of verdicts.
type page struct {
	verdicts []standing.Verdict
	done     chan struct{} // closed when err is known
	err      error
}

// maxPage is the most verdicts that wait to be written. More are refused.
const maxPage = 1000

func newRecords(to Verdicts, told func(), recoverer *loop.Recoverer) *records {
	return &records{to: to, told: told, recoverer: recoverer, next: &page{done: make(chan struct{})}}
}

// write returns when a verdict is committed. A verdict that comes while another one is written goes with the next page.
func (r *records) write(ctx context.Context, v standing.Verdict) error {
	r.mu.Lock()
	p := r.next
	if len(p.verdicts) >= maxPage {
		r.mu.Unlock()
		return errBusy
	}
	p.verdicts = append(p.verdicts, v)
	if !r.writing {
		r.writing = true
		go r.run()
	}
	r.mu.Unlock()
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return ctx.Err() // the verdict is written all the same
	}
}

// run writes pages until none is left.
func (r *records) run() {
	for {
		r.mu.Lock()
		p := r.next
		if r.writing = len(p.verdicts) > 0; !r.writing {
			r.mu.Unlock()
			return
		}
		r.next = &page{done: make(chan struct{})}
		r.mu.Unlock()
		p.err = r.recoverer.Try("risk_url", func() error {
			ctx, cancel := context.WithTimeout(context.Background(), timeout.Backend)
			defer cancel()
			fresh, err := r.to.Give(ctx, ledger.ByService, p.verdicts...)
			if fresh > 0 {
				r.told()
			}
			return err
		})
		close(p.done)
	}
}
