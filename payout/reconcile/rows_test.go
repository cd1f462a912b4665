package reconcile_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// change runs statements without the ledger. Semicolons separate them.
func change(t testing.TB, b *paytest.Books, statements string) {
	t.Helper()
	for statement := range strings.SplitSeq(statements, ";") {
		testenv.Must(t, testenv.Err(b.DB.Exec(t.Context(), statement)))
	}
}

// allOf selects all columns of a table.
func allOf(table string) string {
	return "SELECT * FROM " + table //nolint:unqueryvet // a copy, whatever the columns are
}

// bookTables are the tables that an accountant trusts.
var bookTables = []string{"txn", "entry", "balance", "payout", "winner", "reclaim", "campaign", "campaign_tally",
	"dead_letter", "withdrawal", "withdrawal_event", "deposit", "move", "shard_epoch"}

// keep copies the books; restore brings them back.
func keep(t testing.TB, b *paytest.Books) (restore func()) {
	t.Helper()
	return keepTables(t, b, bookTables)
}

// keepTables copies tables; restore brings them back.
func keepTables(t testing.TB, b *paytest.Books, tables []string) (restore func()) {
	t.Helper()
	for _, table := range tables {
		change(t, b, "CREATE TABLE kept_"+table+" AS "+allOf(table))
	}
	return func() {
		t.Helper()
		for _, table := range tables {
			change(t, b, "DELETE FROM "+table+"; INSERT INTO "+table+" "+allOf("kept_"+table))
		}
	}
}

// wantNamed wants a proof that fails with a finding that begins with a text, and has others.
func wantNamed(t testing.TB, r reconcile.Reconciliation, prefix string, parts ...string) {
	t.Helper()
	if r.Balanced || !slices.ContainsFunc(r.Findings, func(found string) bool {
		return strings.HasPrefix(found, prefix) &&
			!slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(found, part) })
	}) {
		t.Errorf("%q, %q are not found: %+v", prefix, parts, r)
	}
}

// everything lists the findings of both reconciliations, one a line.
func everything(t testing.TB, b *paytest.Books, f *paytest.FakeRedis, campaign string) (one, all string) {
	t.Helper()
	r, err := b.Proof.ReconcileCampaign(t.Context(), campaign, f, reconcile.Rows)
	if errors.Is(err, posting.ErrUnknownCampaign) {
		r.Findings = []string{err.Error()}
	} else if err != nil {
		t.Fatal(err)
	}
	if r.Balanced != (len(r.Findings) == 0 && r.Difference == 0) {
		t.Errorf("balanced is %v: %+v", r.Balanced, r)
	}
	books := testenv.Got(b.Proof.ReconcileFull(t.Context(), f, reconcile.FullOptions{})).Must(t)
	found := slices.Clone(books.Findings)
	for _, c := range books.Campaigns {
		found = append(found, c.Findings...)
	}
	if books.Balanced != (len(found) == 0) {
		t.Errorf("balanced is %v: %+v", books.Balanced, books)
	}
	return strings.Join(r.Findings, "\n"), strings.Join(found, "\n")
}

// TestEveryDeedIsNamed edits the books, or Redis, in every way that a row can be wrong, and expects a finding that
// names the row.
func TestEveryDeedIsNamed(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	paytest.OnBoth(t, func(t *testing.T, b *paytest.Books) {
		b.Proof.SetStretch(3)
		f, _ := b.Stocked(t, "c1", rain.Spec{Budget: 1000, Packets: 20, Shards: 2, WinsPerUser: 1})
		f.Win("c1", 0, "u1", "u5", "u3")
		b.SettleAll(t, f, 0)
		f.Win("c1", 1, "v")
		b.SettleAll(t, f, 1)
		b.CloseCampaign(t, "c1") // shard 0 does not know it yet
		f.Close("c1", 1)
		b.SettleAll(t, f, 1)
		f.Win("c1", 0, "u7")
		// Another campaign, to be mixed up with: transactions 6, 7 and 8.
		f.Open(b.OpenCampaign(t, "c2", rain.Spec{Budget: 100, Packets: 10}))
		f.Win("c2", 0, "w")
		b.MustPost(t, f.Shards[paytest.FakeKey{Campaign: "c2"}].Entries[0])
		testenv.Must(t, b.RecordRefused(t.Context(), b.MustSend(t, "w2", "v", 10), "the bank says no"))
		testenv.Must(t, b.RecordPaid(t.Context(), b.MustSend(t, "w3", "v", 5), "bank"))
		b.MustWithdraw(t, "w1", "v", 20)
		restore := keep(t, b)
		sh := f.Shards[paytest.FakeKey{Campaign: "c1"}]
		before := *sh
		if one, all := everything(t, b, f, "c1"); one != "" || all != "" {
			t.Fatalf("untouched: %q, %q", one, all)
		}
		every := maps.Clone(edits)
		maps.Copy(every, withdrawalEdits)
		for what, d := range every {
			if d.sql != "" {
				change(t, b, d.sql)
			}
			if d.redis != nil {
				sh.Entries = []rain.Entry{before.Entries[0]}
				d.redis(sh)
			}
			one, all := everything(t, b, f, "c1")
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
			if one, all := everything(t, b, f, "c1"); one != "" || all != "" {
				t.Fatalf("%s, undone: %q, %q", what, one, all)
			}
		}
	})
}

// TestFindingsStayReadable: a thousand wrong rows are ten lines and a number, and the same faults have the same
// fingerprint while money moves.
func TestFindingsStayReadable(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		f, _ := b.Stocked(t, "c1", rain.Spec{Budget: 10_000, Packets: 1000})
		users := make([]string, 300)
		for i := range users {
			users[i] = fmt.Sprint("u", i)
		}
		f.Win("c1", 0, users...)
		b.SettleAll(t, f, 0)
		change(t, b, "UPDATE balance SET amount = amount + 1 WHERE account_id LIKE 'user:%'")
		one, err := b.Proof.ReconcileCampaign(t.Context(), "c1", f, reconcile.Rows)
		if err != nil || len(one.Findings) != reconcile.MaxFindings+1 ||
			one.Findings[reconcile.MaxFindings] != "a balance that is not its entries: 290 more of these" {
			t.Errorf("%+v, %v", one, err)
		}
		f.Win("c1", 0, "later")
		b.SettleAll(t, f, 0)
		two, err := b.Proof.ReconcileCampaign(t.Context(), "c1", f, reconcile.Rows)
		if err != nil || two.Fingerprint != one.Fingerprint {
			t.Errorf("another fingerprint for the same faults: %+v, %v", two, err)
		}
		change(t, b, "UPDATE balance SET amount = amount + 1 WHERE account_id = 'escrow:c1'")
		three, err := b.Proof.ReconcileCampaign(t.Context(), "c1", f, reconcile.Rows)
		if err != nil || three.Fingerprint == one.Fingerprint {
			t.Errorf("the same fingerprint for other faults: %+v, %v", three, err)
		}
	})
}

// TestAPacketPaidTwice: even without the key that forbids it.
func TestAPacketPaidTwice(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		f, c := b.Stocked(t, "c1", rain.Spec{Budget: 5 * sqldb.Chunk, Packets: sqldb.Chunk + 10})
		f.Win("c1", 0, slices.Repeat([]string{"u"}, sqldb.Chunk+10)...)
		b.SettleAll(t, f, 0)
		change(t, b, "ALTER TABLE payout RENAME TO keyed; CREATE TABLE payout AS "+allOf("keyed"))
		testenv.Equal(t, b.Prove(t, c, f.Snapshots(c)).Balanced, true, "without a key")
		for _, packet := range []int{0, sqldb.Chunk - 1, sqldb.Chunk + 9} { // the second one stands across two pages
			change(t, b, fmt.Sprintf("INSERT INTO payout %s WHERE packet = %d", allOf("keyed"), packet))
			wantNamed(t, b.Prove(t, c, f.Snapshots(c)), fmt.Sprintf("payout of packet %d (", packet),
				"this packet is paid more than once")
		}
	})
}
