package campaigns

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redrain/payout/ledger"
	"redrain/payout/reconcile"
)

// ghostBooks are books whose lease somebody gives, in the database, to whom they like.
type ghostBooks struct {
	agingBooks
	mine func() bool
}

func (b ghostBooks) Lease(context.Context, string, string, time.Duration) (ledger.Tenure, error) {
	if b.mine() {
		return ledger.Tenure{Term: 1}, nil
	}
	return ledger.Tenure{}, nil
}

// freshKept says that all was proved just now, and takes no time to be.
type freshKept struct{ *fakeKept }

func (k freshKept) LastProofs(context.Context) (last ledger.LastProofs, err error) {
	now := time.Now().UnixMilli()
	last.Recent = ledger.Proof{ProvedAt: now, Balanced: true, TookMS: 1 << 50}
	last.Full = last.Recent
	for _, id := range k.live {
		last.Live = append(last.Live, ledger.Proof{Campaign: id, ProvedAt: now, Balanced: true})
	}
	return last, nil
}

// haunted runs the proofs of a node, a round each minute, of whose database somebody keeps who has the lease and when
// the books were proved. heard are its alarms.
func haunted(t *testing.T, f *fakeBooks, stuck chan struct{}, mine func() bool) (p *Proofs, heard func() string) {
	t.Helper()
	var mu sync.Mutex
	var alarms []string
	books := ghostBooks{agingBooks{nodeBooks{f, "a"}, stuck}, mine}
	p = NewProofs(ProofsOptions{Books: books, Campaigns: books, Leases: books, Node: "a", Every: time.Minute,
		Kept: freshKept{&fakeKept{last: map[string]ledger.Proof{}, live: f.live}}, Share: 0.5,
		Log: slog.New(slog.DiscardHandler), Alarm: func(_, campaign, message string) {
			mu.Lock()
			defer mu.Unlock()
			alarms = append(alarms, campaign+": "+message)
		}})
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	ended.Go(func() { _ = p.Run(ctx) })
	t.Cleanup(func() { cancel(); ended.Wait() })
	return p, func() string {
		mu.Lock()
		defer mu.Unlock()
		said := strings.Join(alarms, "\n")
		alarms = nil
		return said
	}
}

// TestAGhostWithTheLeaseKeepsNoBooksFromBeingProved: a node that never gets the lease proves after three rounds, and
// then in one of ten; so does one that gets it and loses it again and again.
func TestAGhostWithTheLeaseKeepsNoBooksFromBeingProved(t *testing.T) {
	for what, mine := range map[string]func(began time.Time) bool{
		"never":            func(time.Time) bool { return false },
		"every other time": func(began time.Time) bool { return int(time.Since(began)/time.Minute)%2 == 0 },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeBooks("c1")
				f.hidden["c1"] = true // only its rows show it
				began := time.Now()
				_, heard := haunted(t, f, nil, func() bool { return mine(began) })
				minutes(4)
				f.mu.Lock()
				all := f.all["a"]
				f.found["c1"], f.found[""] = "packet 7", "transaction 3"
				f.mu.Unlock()
				if what == "never" && all != 1 {
					t.Errorf("after four rounds: proved %d times", all)
				}
				minutes(ownEvery + ownFirst)
				said := heard()
				for _, want := range []string{"packet 7", "transaction 3"} {
					if strings.Count(said, want) != 1 {
						t.Errorf("%q was not said once: %s", want, said)
					}
				}
				f.set(func() { all = f.all["a"] })
				minutes(100)
				if more := f.all["a"] - all; more < 7 || more > 11 {
					t.Errorf("proved %d times in a hundred rounds", more)
				}
				if said := heard(); said != "" {
					t.Errorf("said again: %s", said)
				}
			})
		})
	}
}

// TestANodeThatCannotProveBelievesNoRow: who keeps a proof from ending, and writes that all was proved just now and
// took ever so long, keeps nobody from saying so.
func TestANodeThatCannotProveBelievesNoRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		p, heard := haunted(t, newFakeBooks("c1"), stuck, func() bool { return false })
		minutes(29)
		if said := heard(); said != "" || p.Proved().Stale {
			t.Errorf("too early: %s", said)
		}
		minutes(10)
		if said := heard(); strings.Count(said, "by this node itself, proved last at never") != 1 || !p.Proved().Stale {
			t.Errorf("not proved for 39 rounds: %q, stale: %v", said, p.Proved().Stale)
		}
		close(stuck)
		minutes(2)
		if said := heard(); said != "" || p.Proved().Stale {
			t.Errorf("proved: %q", said)
		}
	})
}

// ghostLarge are so many that only a full proof reads every row.
type ghostLarge struct {
	ghostBooks
	fulls *int
}

func (b ghostLarge) ReconcileRecent(ctx context.Context, hot reconcile.Hot,
	each reconcile.CampaignProved) (reconcile.Books, error) {
	books, err := b.ghostBooks.ReconcileRecent(ctx, hot, each)
	books.Kind = reconcile.KindRecent
	return books, err
}

func (b ghostLarge) ReconcileFull(_ context.Context, _ reconcile.Hot,
	o reconcile.FullOptions) (reconcile.Books, error) {
	*b.fulls++
	if o.From != nil {
		return reconcile.Books{}, errNotMine
	}
	return reconcile.Books{Kind: reconcile.KindFull, Findings: []string{"row 9"}, Fingerprint: "9"}, nil
}

// TestAGhostWithTheLeaseKeepsNoRowFromBeingRead: a node that never gets the lease reads all books after a week, from
// their beginning, and again after another one.
func TestAGhostWithTheLeaseKeepsNoRowFromBeingRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fulls, alarms := 0, 0
		f := newFakeBooks("c1")
		books := ghostLarge{ghostBooks{agingBooks{nodeBooks{f, "a"}, nil}, func() bool { return false }}, &fulls}
		kept := &fakeKept{last: map[string]ledger.Proof{}, live: f.live,
			reading: ledger.Reading{BeganAt: 1, Place: `{"part":"campaigns"}`}}
		p := NewProofs(ProofsOptions{Books: books, Campaigns: books, Leases: books, Node: "a", Every: time.Hour,
			Kept: freshKept{kept}, Share: 0.5, Log: slog.New(slog.DiscardHandler), Alarm: func(_, _, message string) {
				if strings.Contains(message, "row 9") {
					alarms++
				}
			}})
		ctx, cancel := context.WithTimeout(t.Context(), 2*staleFull+3*time.Hour)
		defer cancel()
		if err := p.Run(ctx); err != nil || fulls != 2 || alarms != 1 || kept.reading.BeganAt != 1 {
			t.Errorf("%v; read %d times, %d alarms, the others' place is %+v", err, fulls, alarms, kept.reading)
		}
	})
}
