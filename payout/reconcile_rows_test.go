package payout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// change runs statements behind the ledger's back. They are parted by semicolons.
func (b *books) change(t testing.TB, statements string) {
	t.Helper()
	for statement := range strings.SplitSeq(statements, ";") {
		if err := b.exec(t.Context(), statement, statement); err != nil {
			t.Fatal(err)
		}
	}
}

// allOf selects a table as it is.
func allOf(table string) string {
	return "SELECT * FROM " + table //nolint:unqueryvet // a copy, whatever the columns are
}

// bookTables are the tables that an accountant trusts.
var bookTables = []string{"txn", "entry", "account", "balance", "payout", "reclaim", "campaign", "campaign_tally",
	"dead_letter", "withdrawal"}

// keep makes copies of the books; restore brings them back.
func (b *books) keep(t testing.TB) (restore func()) {
	t.Helper()
	for _, table := range bookTables {
		b.change(t, "CREATE TABLE kept_"+table+" AS "+allOf(table))
	}
	return func() {
		t.Helper()
		for _, table := range bookTables {
			b.change(t, "DELETE FROM "+table+"; INSERT INTO "+table+" "+allOf("kept_"+table))
		}
	}
}

// everything is what both reconciliations find, a line each.
func (b *books) everything(t testing.TB, f *fakeRedis, campaign string) (one, all string) {
	t.Helper()
	r, err := b.proof.ReconcileWith(t.Context(), campaign, f, Rows)
	if errors.Is(err, ErrUnknownCampaign) {
		r.Findings = []string{err.Error()}
	} else if err != nil {
		t.Fatal(err)
	}
	if r.Balanced != (len(r.Findings) == 0 && r.Difference == 0) {
		t.Errorf("balanced is %v: %+v", r.Balanced, r)
	}
	books, err := b.proof.ReconcileAll(t.Context(), f, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := slices.Clone(books.Findings)
	for _, c := range books.Campaigns {
		found = append(found, c.Findings...)
	}
	if books.Balanced != (len(found) == 0) {
		t.Errorf("balanced is %v: %+v", books.Balanced, books)
	}
	return strings.Join(r.Findings, "\n"), strings.Join(found, "\n")
}

// TestEveryDeedIsNamed changes the books, or Redis, by hand, in every way that a row can be wrong, and wants the
// row named.
func TestEveryDeedIsNamed(t *testing.T) {
	for name, open := range map[string]func(testing.TB) *books{"sqlite": onSQLite, "mysql": onMySQL} {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			b.proof.stretch = 3
			f := newFakeRedis(b.clock.Now)
			f.open(b.campaign(t, "c1", rain.Spec{Budget: 1000, Packets: 20, Shards: 2, WinsPerUser: 1}))
			f.win("c1", 0, "u1", "u2", "u3")
			b.settleAll(t, f, 0)
			f.win("c1", 1, "v")
			b.settleAll(t, f, 1)
			f.close("c1", 1)
			b.settleAll(t, f, 1)
			f.win("c1", 0, "u4")
			// Another campaign, to be mixed up with: transactions 6, 7 and 8.
			f.open(b.campaign(t, "c2", rain.Spec{Budget: 100, Packets: 10}))
			f.win("c2", 0, "w")
			b.post(t, f.shards[fakeKey{"c2", 0}].entries[0].Entry)
			f.close("c2", 0)
			b.withdraw(t, "w1", "v", 20)
			must(t, b.RecordRefused(t.Context(), b.withdraw(t, "w2", "v", 10), "the bank says no"))
			must(t, b.RecordPaid(t.Context(), b.withdraw(t, "w3", "v", 5), "bank"))
			restore := b.keep(t)
			sh := f.shards[fakeKey{"c1", 0}]
			before := *sh
			if one, all := b.everything(t, f, "c1"); one != "" || all != "" {
				t.Fatalf("untouched: %q, %q", one, all)
			}
			for what, d := range deeds {
				if d.sql != "" {
					b.change(t, d.sql)
				}
				if d.redis != nil {
					sh.entries = []*fakeEntry{{Entry: before.entries[0].Entry}}
					d.redis(sh)
				}
				one, all := b.everything(t, f, "c1")
				for _, want := range d.names {
					if !strings.Contains(one, want) {
						t.Errorf("%s: %q is missing in\n%s", what, want, one)
					}
					if !strings.Contains(all, want) {
						t.Errorf("%s, everything: %q is missing in\n%s", what, want, all)
					}
				}
				for _, want := range d.global {
					if !strings.Contains(all, want) {
						t.Errorf("%s, everything: %q is missing in\n%s", what, want, all)
					}
				}
				if d.sql != "" {
					restore()
				}
				*sh = before
				if one, all := b.everything(t, f, "c1"); one != "" || all != "" {
					t.Fatalf("%s, undone: %q, %q", what, one, all)
				}
			}
		})
	}
}

// TestARedisThatIsAwayIsNoDifference: it cannot be checked, and that is said.
func TestARedisThatIsAwayIsNoDifference(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		f := newFakeRedis(b.clock.Now)
		f.open(b.campaign(t, "c1", rain.Spec{Budget: 100, Packets: 10}))
		f.fail(errors.New("connection refused"))
		if _, err := b.proof.ReconcileWith(t.Context(), "c1", f, Sums); !errors.Is(err, ErrHot) {
			t.Errorf("%v", err)
		}
		heard := 0
		all, err := b.proof.ReconcileAll(t.Context(), f, func(campaign string, _ Reconciliation, err error) {
			if heard++; campaign != "c1" || !errors.Is(err, ErrHot) {
				t.Errorf("%s: %v", campaign, err)
			}
		})
		if err != nil || all.Balanced || all.Difference != 0 || len(all.Unchecked) != 1 || len(all.Findings) != 0 ||
			heard != 1 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// TestFindingsStayReadable: a thousand wrong rows are ten lines and a number, and the same faults have the same
// fingerprint while the money moves on.
func TestFindingsStayReadable(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		f := newFakeRedis(b.clock.Now)
		f.open(b.campaign(t, "c1", rain.Spec{Budget: 10_000, Packets: 1000}))
		users := make([]string, 300)
		for i := range users {
			users[i] = fmt.Sprint("u", i)
		}
		f.win("c1", 0, users...)
		b.settleAll(t, f, 0)
		b.change(t, "UPDATE balance SET amount = amount + 1 WHERE account_id LIKE 'user:%'")
		one, err := b.proof.ReconcileWith(t.Context(), "c1", f, Rows)
		if err != nil || len(one.Findings) != maxFindings+1 ||
			one.Findings[maxFindings] != "a balance that is not its entries: 290 more of these" {
			t.Errorf("%+v, %v", one, err)
		}
		f.win("c1", 0, "later")
		b.settleAll(t, f, 0)
		two, err := b.proof.ReconcileWith(t.Context(), "c1", f, Rows)
		if err != nil || two.Fingerprint != one.Fingerprint {
			t.Errorf("another fingerprint for the same faults: %+v, %v", two, err)
		}
		b.change(t, "UPDATE balance SET amount = amount + 1 WHERE account_id = 'escrow:c1'")
		three, err := b.proof.ReconcileWith(t.Context(), "c1", f, Rows)
		if err != nil || three.Fingerprint == one.Fingerprint {
			t.Errorf("the same fingerprint for other faults: %+v, %v", three, err)
		}
	})
}

// TestAPacketPaidTwice: also where the key that forbids it is gone.
func TestAPacketPaidTwice(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		f := newFakeRedis(b.clock.Now)
		c := b.campaign(t, "c1", rain.Spec{Budget: 5 * sqldb.Chunk, Packets: sqldb.Chunk + 10})
		f.open(c)
		f.win("c1", 0, slices.Repeat([]string{"u"}, sqldb.Chunk+10)...)
		b.settleAll(t, f, 0)
		b.change(t, "ALTER TABLE payout RENAME TO keyed; CREATE TABLE payout AS "+allOf("keyed"))
		if got := b.reconcile(t, c, f.snapshot(c)); !got.Balanced {
			t.Fatalf("without a key: %+v", got)
		}
		for _, packet := range []int{0, sqldb.Chunk - 1, sqldb.Chunk + 9} { // the second one stands across two pages
			b.change(t, fmt.Sprintf("INSERT INTO payout %s WHERE packet = %d", allOf("keyed"), packet))
			got := b.reconcile(t, c, f.snapshot(c))
			if want := fmt.Sprintf("payout of packet %d (", packet); !slices.ContainsFunc(got.Findings,
				func(s string) bool {
					return strings.Contains(s, want) && strings.Contains(s, "this packet is paid more than once")
				}) {
				t.Errorf("packet %d: %+v", packet, got)
			}
		}
	})
}

// TestShardOf is the inverse of how stock is dealt.
func TestShardOf(t *testing.T) {
	for _, packets := range []int{1, 2, 3, 7, 100, 1001} {
		for _, shards := range []int{1, 2, 3, 7, 256} {
			c := &rain.Campaign{Spec: rain.Spec{Packets: packets, Shards: shards}}
			for s := range shards {
				first, n := rain.ShardRange(packets, shards, s)
				for p := first; p < first+n; p++ {
					if got := shardOf(c, p); got != s {
						t.Fatalf("packet %d of %d in %d shards is in %d, not in %d", p, packets, shards, got, s)
					}
				}
			}
		}
	}
}

// failingReader is a Hot whose wins cannot be read to the end.
type failingReader struct {
	*fakeRedis
}

func (failingReader) EachWin(context.Context, *rain.Campaign, int, func(string, rain.Win, string) error) error {
	return errors.New("broken pipe")
}

func TestARedisThatGoesAwayHalfway(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		f := newFakeRedis(b.clock.Now)
		f.open(b.campaign(t, "c1", rain.Spec{Budget: 100, Packets: 10}))
		f.win("c1", 0, "u")
		if _, err := b.proof.ReconcileWith(t.Context(), "c1", failingReader{f}, Rows); !errors.Is(err, ErrHot) {
			t.Errorf("%v", err)
		}
		if r, err := b.proof.ReconcileWith(t.Context(), "c1", failingReader{f}, Sums); err != nil || !r.Balanced {
			t.Errorf("the sums need no wins: %+v, %v", r, err)
		}
	})
}

// busyReader is a Hot that loses no time: between any two reads somebody wins, and some of it is paid.
type busyReader struct {
	*fakeRedis
	busy func()
}

func (f busyReader) Snapshot(ctx context.Context, c *rain.Campaign) ([]rain.ShardSnapshot, error) {
	defer f.busy()
	return f.fakeRedis.Snapshot(ctx, c)
}

func (f busyReader) EachWin(ctx context.Context, c *rain.Campaign, shard int,
	fn func(string, rain.Win, string) error) error {
	f.busy()
	defer f.busy()
	return f.fakeRedis.EachWin(ctx, c, shard, fn)
}

// TestWhatComesBetweenTheReadsIsNoFinding: wins and payments after the snapshot, and before the ledger is read, and
// after.
func TestWhatComesBetweenTheReadsIsNoFinding(t *testing.T) {
	onEach(t, func(b *books) {
		t := b.t
		f := newFakeRedis(b.clock.Now)
		f.open(b.campaign(t, "c1", rain.Spec{Budget: 1000, Packets: 100}))
		f.win("c1", 0, "first")
		hot := busyReader{f, func() {
			f.win("c1", 0, "paid")
			b.settleAll(t, f, 0)
			f.win("c1", 0, "waiting")
		}}
		for range 3 {
			if r, err := b.proof.ReconcileWith(t.Context(), "c1", hot, Rows); err != nil || !r.Balanced {
				t.Errorf("%+v, %v", r, err)
			}
		}
	})
}
