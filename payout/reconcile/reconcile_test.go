package reconcile_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestReconcileThroughALife(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		f, c := b.Stocked(t, "c1", rain.Spec{Budget: 1000, Packets: 100, Shards: 3})
		want := reconcile.Reconciliation{Funded: 1000, Stock: 1000, Balanced: true}
		check := func(what string) {
			t.Helper()
			if got := b.Prove(t, c, f.Snapshots(c)); !equal(got, want) {
				t.Errorf("%s:\ngot  %+v\nwant %+v", what, got, want)
			}
		}
		check("stocked")
		f.Win("c1", 0, "u1", "u2")
		f.Win("c1", 1, "u3")
		want.Stock, want.Unsettled = 970, 30
		check("won")
		b.SettleAll(t, f, 0)
		want.Paid, want.Unsettled = 20, 10
		check("partly settled")

		before := f.Snapshots(c)
		f.Win("c1", 0, "u1")
		f.Win("c1", 2, "u1")
		b.SettleAll(t, f, 0)
		b.SettleAll(t, f, 1)
		b.SettleAll(t, f, 2)
		// In the older snapshots the two new wins are stock, and that of u3 is paid.
		want.Paid, want.Unsettled = 30, 0
		if got := b.Prove(t, c, before); !equal(got, want) {
			t.Errorf("with a snapshot from before:\ngot  %+v\nwant %+v", got, want)
		}
		want.Paid, want.Stock = 50, 950
		check("settled")

		testenv.Got(f.Oldest("c1", 0, 10)).Len(t, 0, "entries")
		before = f.Snapshots(c)
		b.CloseCampaign(t, "c1")
		for s := range 3 {
			f.Close("c1", s)
		}
		want.Stock, want.Unsettled = 0, 950
		check("closed")
		b.SettleAll(t, f, 1)
		got := b.Prove(t, c, before)
		if got.Stock != 950 || got.Reclaimed != 0 || !got.Balanced {
			t.Errorf("seen from before the close: %+v", got)
		}
		b.SettleAll(t, f, 0)
		b.SettleAll(t, f, 2)
		want.Unsettled, want.Reclaimed = 0, 950
		check("given back")

		// Redis has forgotten the drained campaign: everything is in the ledger.
		c = testenv.Got(b.Update(t.Context(), "c1",
			func(c *rain.Campaign) error { c.Drained = true; return c.Close(1) })).Must(t)
		if got := b.Prove(t, c, nil); !equal(got, want) {
			t.Errorf("drained and forgotten: %+v", got)
		}
		f.Fail(errors.New("connection refused"))
		if got := b.Prove(t, c, f); !equal(got, want) {
			t.Errorf("drained, with Redis away: %+v", got)
		}
	})
}

// TestReconcileTellsEntriesOfOneMillisecondApart: the sequence number is part of an entry's position.
func TestReconcileTellsEntriesOfOneMillisecondApart(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		c := b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		e := func(seq, packet int) rain.Entry {
			return paytest.Seal(rain.Entry{Ref: rain.EntryRef{Campaign: "c1", ID: fmt.Sprintf("500-%d", seq)},
				Wins: []rain.Win{paytest.Win("u", packet, 10)}})
		}
		b.MustPost(t, e(0, 0), e(1, 1), e(2, 2))
		f := paytest.NewFakeRedis(b.Clock.Now, c)
		f.Settled(e(0, 0))
		f.Settled(e(1, 1))
		before := f.Snapshots(c)
		f.Settled(e(2, 2))
		if got := b.Prove(t, c, before); !equal(got,
			reconcile.Reconciliation{Funded: 100, Paid: 20, Stock: 80, Balanced: true}) {
			t.Errorf("%+v", got)
		}
	})
}

func equal(a, b reconcile.Reconciliation) bool {
	return a.Funded == b.Funded && a.Paid == b.Paid && a.Reclaimed == b.Reclaimed && a.Stock == b.Stock &&
		a.Unsettled == b.Unsettled &&
		a.Dead == b.Dead && a.Difference == b.Difference && a.Balanced == b.Balanced &&
		slices.Equal(a.Findings, b.Findings)
}

func TestReconcileLoadingAndAbandoned(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		testenv.Must(t, testenv.Err(b.Deposit(t.Context(), "acme", "r", 100)))
		c := paytest.FullCampaign("c1")
		testenv.Must(t, b.CreateCampaign(t.Context(), c))
		half := paytest.NewFakeRedis(b.Clock.Now, c)
		half.Lose("c1", 1)
		if got := b.Prove(t, c, half); !equal(got, reconcile.Reconciliation{Funded: 100, Stock: 100, Balanced: true}) {
			t.Errorf("%+v", got)
		}
		c = testenv.Got(b.Abandon(t.Context(), "c1")).Must(t)
		if got := b.Prove(t, c, half); !equal(got, reconcile.Reconciliation{Funded: 100, Reclaimed: 100,
			Balanced: true}) {
			t.Errorf("%+v", got)
		}
	})
}

func TestReconcileCountsDeadLettersOnce(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		f, c := b.Stocked(t, "c1", rain.Spec{Budget: 100, Packets: 10})
		f.Win("c1", 0, "u1", "u2")
		// The ledger refuses u2's win: packet 1 was paid to another player by an edit.
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("thief", 1, 10)))
		snapshot := f.Snapshots(c)
		got := b.Prove(t, c, snapshot)
		if got.Paid != 10 || got.Unsettled != 20 || got.Difference != -10 || got.Balanced || len(got.Findings) == 0 {
			t.Errorf("before: %+v", got)
		}
		b.SettleAll(t, f, 0)
		for _, s := range []*paytest.FakeRedis{snapshot, f} {
			got = b.Prove(t, c, s)
			if got.Paid != 20 || got.Unsettled != 0 || got.Dead != 10 || got.Difference != -10 || got.Balanced {
				t.Errorf("%+v", got)
			}
		}
	})
}

// TestWhatRedisLacksIsTheDifference: TestEditedRowsAreNamed covers the rows of the books.
func TestWhatRedisLacksIsTheDifference(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		f, c := b.Stocked(t, "c1", rain.Spec{Budget: 1000, Packets: 100})
		f.Win("c1", 0, "u1", "u2", "u3")
		b.SettleAll(t, f, 0)
		f.Win("c1", 0, "u4")
		lost := f.Snapshots(c)
		lost.Lose("c1", 0)
		if got := b.Prove(t, c, lost); got.Balanced || got.Difference != 970 ||
			!strings.Contains(got.Findings[0], "shard 0") {
			t.Errorf("Redis lost the shard: %+v", got)
		}
		short := f.Snapshots(c)
		short.Shards[paytest.FakeKey{Campaign: "c1"}].Stock = paytest.Packets(5, 99)
		if got := b.Prove(t, c, short); got.Balanced || got.Difference != 10 {
			t.Errorf("a packet is gone from the stock: %+v", got)
		}
		more := f.Snapshots(c)
		more.Shards[paytest.FakeKey{Campaign: "c1"}].Entries = nil
		if got := b.Prove(t, c, more); got.Balanced || got.Difference != 10 {
			t.Errorf("an outbox entry is gone: %+v", got)
		}
	})
}

// TestReconcileIsExactWhileItRains wins, settles, deposits and reconciles concurrently, one campaign and everything.
// At no moment is a cent unaccounted for, or a right row a finding.
func TestReconcileIsExactWhileItRains(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		const shards, packets = 3, 450
		b.Proof.SetStretch(70)
		f, c := b.Stocked(t, "c1", rain.Spec{Budget: 10 * packets, Packets: packets, Shards: shards,
			Split: rain.DoubleMean})
		var wg sync.WaitGroup
		var ended atomic.Int32
		for s := range shards {
			wg.Go(func() {
				defer ended.Add(1)
				for i := 0; f.Win("c1", s, fmt.Sprintf("u%d", i%50), fmt.Sprintf("v%d", s)) > 0; i++ {
					if i%3 == 0 {
						b.SettleAll(t, f, s)
					}
					if s == 2 && i == 50 {
						f.Close("c1", s)
						return // its rest returns after the closing
					}
				}
				b.SettleAll(t, f, s)
			})
		}
		wg.Go(func() { // money comes in meanwhile
			for i := 0; ended.Load() < shards; i++ {
				if _, err := b.Deposit(t.Context(), "acme", fmt.Sprint("more ", i), 10); err != nil {
					t.Error(err)
					return
				}
			}
		})
		rounds := 0
		for ; ended.Load() < shards; rounds++ {
			got, err := b.Proof.ReconcileCampaign(t.Context(), "c1", f, reconcile.Rows)
			if err != nil || !got.Balanced {
				t.Errorf("round %d: %+v, %v", rounds, got, err)
				break
			}
			if got, err := b.Proof.ReconcileFull(t.Context(), f, reconcile.FullOptions{}); err != nil || !got.Balanced {
				t.Errorf("round %d, everything: %+v, %v", rounds, got, err)
				break
			}
		}
		wg.Wait()
		b.CloseCampaign(t, "c1")
		b.SettleAll(t, f, 2)
		got := b.Prove(t, c, f.Snapshots(c))
		if !got.Balanced || got.Stock != 0 || got.Unsettled != 0 || got.Paid+got.Reclaimed != 10*packets {
			t.Errorf("in the end: %+v", got)
		}
		all, err := b.Proof.ReconcileFull(t.Context(), f, reconcile.FullOptions{})
		if err != nil || !all.Balanced {
			t.Errorf("everything in the end: %+v, %v", all, err)
		}
		t.Logf("%d reconciliations, %d transactions and %d accounts in the end", rounds, all.Transactions, all.Accounts)
	})
}
