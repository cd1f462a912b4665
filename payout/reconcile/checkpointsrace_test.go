package reconcile_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"redrain/payout/paytest"
	"redrain/payout/reconcile"
)

// TestACheckpointThatIsGoneAtOnceEndsTheProof: a proof whose checkpoints somebody removes as fast as it writes them
// reads the books to their end all the same, and names that.
func TestACheckpointThatIsGoneAtOnceEndsTheProof(t *testing.T) {
	t.Parallel()
	l := newRecentLedger(t, paytest.OnSQLite(t))
	for range 8 {
		l.goOn()
	}
	const trigger = "CREATE TRIGGER thief AFTER INSERT ON proof_checkpoint BEGIN " +
		"DELETE FROM proof_checkpoint; DELETE FROM proof_sum; END"
	if _, err := l.b.DB.Exec(t.Context(), trigger); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	books, err := l.b.Proof.ReconcileRecent(ctx, l.f, nil)
	if err != nil || !names(all(books), "no checkpoint can be made") {
		t.Fatalf("found %q, %v", all(books), err)
	}
	change(t, l.b, "DROP TRIGGER thief")
	change(t, l.b, "DELETE FROM proof_sum")
	if found, _ := l.recent(); len(found) > 0 {
		t.Errorf("put right: %q", found)
	}
	if _, since := l.recent(); since == 0 {
		t.Error("no checkpoint was made")
	}
}

// TestTwoProofsAtOnceDoNoHarm: nodes that prove at the same time find nothing in books that are whole, and make
// checkpoints that are.
func TestTwoProofsAtOnceDoNoHarm(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *paytest.Books{"sqlite": paytest.OnSQLite,
		"mysql": paytest.OnMySQL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newRecentLedger(t, open(t))
			others := []*reconcile.Reconciler{l.b.Proof}
			for range 2 {
				other := reconcile.New(l.b.DB, paytest.Node(t, l.b).Campaigns, l.b.Clock.Now, nil)
				other.Like(l.b.Proof)
				others = append(others, other)
			}
			for range 3 {
				for range 6 {
					l.goOn()
				}
				var proving sync.WaitGroup
				for _, s := range others {
					proving.Go(func() {
						books, err := s.ReconcileRecent(t.Context(), l.f, nil)
						if err != nil || len(all(books)) > 0 {
							t.Errorf("found %q, %v", all(books), err)
						}
					})
				}
				proving.Wait()
			}
			if found, since := l.recent(); len(found) > 0 || since == 0 {
				t.Errorf("from checkpoint %d on: %q", since, found)
			}
			if found := l.full(); len(found) > 0 {
				t.Errorf("by every row: %q", found)
			}
		})
	}
}
