package campaigns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/loop"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/reconcile"
)

// fakeKept is where nodes say when they have proved the books.
type fakeKept struct {
	mu    sync.Mutex
	last  map[string]ledger.Proof
	since int64
	live  []string
	books *fakeBooks // nil: no campaign is drained
}

func (k *fakeKept) Pending(context.Context) (ids []string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.books == nil {
		return nil, nil
	}
	k.books.mu.Lock()
	defer k.books.mu.Unlock()
	for id, p := range k.last {
		if id != "" && !p.Final && !slices.Contains(k.books.live, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (k *fakeKept) NoteProofs(_ context.Context, proofs []ledger.Proof) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range proofs {
		k.last[p.Campaign] = p
	}
	return nil
}

func (k *fakeKept) LastProofs(context.Context) (last ledger.LastProofs, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range k.live {
		p, proved := k.last[id]
		if !proved {
			p = ledger.Proof{Campaign: id, ProvedAt: k.since}
		}
		last.Live = append(last.Live, p)
	}
	last.Full = k.last[""]
	return last, nil
}

// agingBooks are books that one node proves, or nobody.
type agingBooks struct {
	nodeBooks
	stuck chan struct{} // a proof of everything waits for it; nil: it does not
}

func (b agingBooks) ReconcileFull(ctx context.Context, hot reconcile.Hot, o reconcile.FullOptions) (reconcile.Books,
	error) {
	if b.stuck != nil {
		select {
		case <-b.stuck:
		case <-ctx.Done():
			return reconcile.Books{}, ctx.Err()
		}
	}
	return b.nodeBooks.ReconcileFull(ctx, hot, o)
}

// TestProofsThatGrowOldAreAnAlarm: on each node, also on one that does not prove, once for each campaign and for
// everything, and again when it comes back after the books were proved.
func TestProofsThatGrowOldAreAnAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeBooks("c1")
		kept := &fakeKept{last: map[string]ledger.Proof{}, live: []string{"c1"}, since: time.Now().UnixMilli()}
		var mu sync.Mutex
		var alarms []string
		heard := func() string {
			mu.Lock()
			defer mu.Unlock()
			said := strings.Join(alarms, "\n")
			alarms = nil
			return said
		}
		stuck := make(chan struct{})
		run := func(node string) (p *Proofs, stop func()) {
			books := agingBooks{nodeBooks{f, node}, stuck}
			p = NewProofs(ProofsOptions{
				Books: books, Campaigns: books, Kept: kept, Leases: books, Node: node, Every: time.Minute,
				Share: 0.5, Log: slog.New(slog.DiscardHandler),
				Alarm: func(_, campaign, message string) {
					mu.Lock()
					defer mu.Unlock()
					alarms = append(alarms, node+" "+campaign+": "+message)
				},
			})
			ctx, cancel := context.WithCancel(t.Context())
			var ended sync.WaitGroup
			ended.Go(func() { _ = p.Run(ctx) })
			return p, func() { cancel(); ended.Wait() }
		}
		a, stopA := run("a")
		b, stopB := run("b")
		defer stopA()
		defer stopB()
		synctest.Wait()

		minutes(47 * 60)
		if said := heard(); said != "" || a.Proved().Stale || b.Proved().Stale || b.Proved().Oldest == 0 {
			t.Errorf("too early: %q, %+v", said, b.Proved())
		}
		minutes(2 * 60) // everything is being proved for two days, and the live campaign all the time
		said := heard()
		for _, node := range []string{"a", "b"} {
			if strings.Count(said, node+" : all books were proved last at never") != 1 || strings.Contains(said, "c1") {
				t.Errorf("everything is late: %q", said)
			}
		}
		close(stuck)
		minutes(11)
		if said := heard(); said != "" || a.Proved().Stale || b.Proved().Everything.ProvedAt == 0 {
			t.Errorf("proved: %q, %+v", said, b.Proved())
		}
		f.set(func() { f.down = errors.New("gone away") }) // and the proofs with it
		minutes(15)
		if said := heard(); strings.Count(said, "c1: the books of the campaign were proved last at 2000-01-03T") != 2 {
			t.Errorf("nobody proves: %q", said)
		}
		f.set(func() { f.down = nil })
		minutes(12)
		if said := heard(); said != "" || a.Proved().Stale {
			t.Errorf("proved again: %q, %+v", said, a.Proved())
		}
		kept.mu.Lock()
		kept.last["c1"] = ledger.Proof{Campaign: "c1", ProvedAt: time.Now().Add(1000 * time.Hour).UnixMilli()}
		kept.mu.Unlock()
		b.lookAtAge(t.Context())
		if said := heard(); strings.Count(said, "b c1") != 1 {
			t.Errorf("proved in the future: %q", said)
		}
	})
}

// tornBooks panic for one campaign, each time.
type tornBooks struct {
	nodeBooks
	proved map[string]int
}

func (b tornBooks) ReconcileWith(ctx context.Context, id string, hot reconcile.Hot,
	depth reconcile.Depth) (reconcile.Reconciliation, error) {
	if id == "bad" {
		panic(fmt.Sprint("make of ", -1000))
	}
	b.set(func() { b.proved[id]++ })
	return b.nodeBooks.ReconcileWith(ctx, id, hot, depth)
}

// TestARoundThatPanicsEndsNoSchedule: the next one runs, nobody waits for who keeps the lease, and the end is the end.
func TestARoundThatPanicsEndsNoSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		books := tornBooks{nodeBooks{newFakeBooks("a", "bad"), "n"}, map[string]int{}}
		p := NewProofs(ProofsOptions{Books: books, Campaigns: books, Leases: books, Node: "n", Every: time.Minute,
			Share: 0.5, Log: slog.New(slog.DiscardHandler), Recoverer: quietGuard(t)})
		ctx, cancel := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		ended.Go(func() { _ = p.Run(ctx) })
		minutes(30)
		if books.proved["a"] < 30 || books.all["n"] != 1 {
			t.Errorf("proved %v, everything %v", books.proved, books.all)
		}
		cancel()
		ended.Wait()
	})
}

func quietGuard(t *testing.T) *loop.Recoverer {
	t.Helper()
	recoverer, err := loop.NewRecoverer(nil, slog.New(slog.DiscardHandler), nil)
	testenv.Must(t, err)
	return recoverer
}
