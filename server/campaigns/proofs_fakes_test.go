package campaigns

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/reconcile"
)

// fakeBooks is a ledger with the reconciliations that the test sets.
type fakeBooks struct {
	mu        sync.Mutex
	holder    string
	full      string // who makes a full proof
	until     time.Time
	live      []string
	found     map[string]string       // the fault of each campaign; "" is the ledger's own
	hidden    map[string]bool         // those whose fault the sums do not show
	rows      []string                // campaigns whose rows were looked at
	away      map[string]bool         // those whose Redis is away
	down      error                   // the database
	slices    int                     // of a second each, in a full reconciliation
	stuck     chan struct{}           // a full reconciliation waits for it; nil: it does not
	sums, all map[string]int          // by Node: campaigns looked at, and looks at everything
	last      map[string]ledger.Proof // that nodes have noted
	since     int64                   // when the campaigns were made
}

func newFakeBooks(live ...string) *fakeBooks {
	return &fakeBooks{
		live: live, found: map[string]string{}, hidden: map[string]bool{}, away: map[string]bool{},
		sums: map[string]int{}, all: map[string]int{}, last: map[string]ledger.Proof{},
		since: time.Now().UnixMilli(),
	}
}

func (f *fakeBooks) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fakeBooks) Pending(context.Context) (ids []string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, p := range f.last {
		if id != "" && id != "drained" && !p.Final && !slices.Contains(f.live, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (f *fakeBooks) NoteProofs(_ context.Context, proofs []ledger.Proof) error {
	f.set(func() {
		for _, p := range proofs {
			f.last[p.Campaign] = p
		}
	})
	return nil
}

func (f *fakeBooks) LastProofs(context.Context) (last ledger.LastProofs, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range f.live {
		p, proved := f.last[id]
		if !proved {
			p = ledger.Proof{Campaign: id, ProvedAt: f.since}
		}
		last.Live = append(last.Live, p)
	}
	last.Full = f.last[""]
	return last, nil
}

// nodeBooks is fakeBooks as one node sees it.
type nodeBooks struct {
	*fakeBooks
	node string
}

func (f nodeBooks) look(id string, depth reconcile.Depth) (reconcile.Reconciliation, error) {
	if f.away[id] {
		return reconcile.Reconciliation{}, fmt.Errorf("%w: connection refused", reconcile.ErrLiveState)
	}
	what := f.found[id]
	if what == "" || (f.hidden[id] && depth == reconcile.Sums) {
		return reconcile.Reconciliation{Balanced: true,
			Final: depth == reconcile.Rows && !slices.Contains(f.live, id)}, nil
	}
	return reconcile.Reconciliation{Difference: 7, Findings: []string{what, "more"}, Fingerprint: what}, nil
}

func (f nodeBooks) ReconcileCampaign(_ context.Context, id string, _ reconcile.LiveState,
	depth reconcile.Depth) (reconcile.Reconciliation, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sums[f.node]++
	if depth == reconcile.Rows {
		f.rows = append(f.rows, id)
	}
	if f.down != nil {
		return reconcile.Reconciliation{}, f.down
	}
	return f.look(id, depth)
}

func (f nodeBooks) ReconcileFull(ctx context.Context, _ reconcile.LiveState, o reconcile.FullOptions) (reconcile.Books,
	error) {
	if f.stuck != nil {
		select {
		case <-f.stuck:
		case <-ctx.Done():
			return reconcile.Books{}, ctx.Err()
		}
	}
	for range f.slices {
		time.Sleep(time.Second) //nolint:forbidigo // in a bubble, where time is not waited for
		if o.Pause == nil {
			continue
		}
		if err := o.Pause(ctx, time.Second); err != nil {
			return reconcile.Books{}, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all[f.node]++
	if f.down != nil {
		return reconcile.Books{}, f.down
	}
	for _, id := range append(slices.Clone(f.live), "drained") {
		if r, err := f.look(id, reconcile.Rows); o.Each != nil {
			o.Each(id, r, err)
		}
	}
	b := reconcile.Books{Balanced: f.found[""] == "", CheckedAt: 1}
	if what := f.found[""]; what != "" {
		b.Findings, b.Fingerprint = []string{what}, what
	}
	return b, nil
}

func (f nodeBooks) LiveIDs(context.Context) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.live), f.down
}

func (nodeBooks) UnderTerm(ctx context.Context, _ string, _ int64) context.Context { return ctx }

func (f nodeBooks) Lease(_ context.Context, name, holder string, ttl time.Duration) (ledger.Tenure, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if name == fullLease {
		if f.full != "" && f.full != holder {
			return ledger.Tenure{}, f.down
		}
		f.full = holder
		return ledger.Tenure{Term: 1}, f.down
	}
	if name != reconcileLease || (f.holder != holder && time.Now().Before(f.until)) {
		return ledger.Tenure{}, f.down
	}
	f.holder, f.until = holder, time.Now().Add(ttl)
	return ledger.Tenure{Term: 1}, f.down
}

func (f nodeBooks) ReleaseLease(_ context.Context, _, holder string) error {
	f.set(func() {
		if f.holder == holder {
			f.until = time.Now()
		}
		if f.full == holder {
			f.full = ""
		}
	})
	return nil
}

// sayingBus says which alarms it raises.
type sayingBus struct {
	told
	say func(line string)
}

func (b *sayingBus) Alarm(code, campaign, message string) {
	b.say("alarm " + code + " of " + campaign + ": " + message)
}

// proofsOf are a node's proofs, with a round each minute. heard is its alarms and its log lines, since it was asked
// last.
func proofsOf(f *fakeBooks, node string) (p *Proofs, heard func() []string) {
	var mu sync.Mutex
	var lines []string
	say := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}
	books, bus := nodeBooks{f, node}, &sayingBus{say: say}
	n := memoryNode(bus, bus, func() int64 { return time.Now().UnixMilli() })
	n.Name, n.Leases = node, books
	n.Log = slog.New(slog.NewTextHandler(lineWriter(say),
		&slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
	p = NewProofs(ProofsOptions{Node: n, Books: books, LiveIDs: books.LiveIDs, Kept: books, Every: time.Minute,
		Share: 0.5})
	return p, func() []string {
		mu.Lock()
		defer mu.Unlock()
		said := lines
		lines = nil
		return said
	}
}

// reconcilerAt is proofsOf that run.
func reconcilerAt(t *testing.T, f *fakeBooks, node string) (p *Proofs, heard func() []string, stop func()) {
	t.Helper()
	p, heard = proofsOf(f, node)
	stop = testenv.Run(t, p.Run)
	synctest.Wait()
	return p, heard, stop
}

type lineWriter func(string)

func (w lineWriter) Write(p []byte) (int, error) {
	w(strings.TrimSpace(string(p)))
	return len(p), nil
}

func minutes(n int) {
	time.Sleep(time.Duration(n) * time.Minute) //nolint:forbidigo // in a bubble, where time is not waited for
	synctest.Wait()
}
