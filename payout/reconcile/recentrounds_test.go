package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"redrain/payout/paytest"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// recentLedger is a ledger that goes on while it is proved, with checkpoints close to each other and sums that are
// carried forward from the third entry on.
type recentLedger struct {
	t     testing.TB
	b     *paytest.Books
	f     *paytest.FakeRedis
	round int
}

func newRecentLedger(t testing.TB, b *paytest.Books) *recentLedger {
	t.Helper()
	l := &recentLedger{t: t, b: b, f: paytest.NewFakeRedis(b.Clock.Now)}
	b.Proof.SetRecent(3, 20, 0)
	b.Proof.SetMany(2)
	l.f.Open(b.OpenCampaign(t, "c1", rain.Spec{Budget: 1000, Packets: 100, WinsPerUser: 100}))
	return l
}

// goOn lets players win, withdraw and be paid, and the sponsor pay in.
func (l *recentLedger) goOn() {
	l.t.Helper()
	l.round++
	l.f.Win("c1", 0, "u", fmt.Sprint("v", l.round))
	l.b.SettleAll(l.t, l.f, 0)
	w := l.b.MustSend(l.t, fmt.Sprintf("w%d", l.round), "u", 3)
	if l.round%2 == 0 {
		paytest.Must(l.t, l.b.RecordPaid(l.t.Context(), w, "paid"))
	} else {
		paytest.Must(l.t, l.b.RecordRefused(l.t.Context(), w, "closed"))
	}
	_, err := l.b.Deposit(paytest.As(l.t, "sponsor.deposit"), "acme", fmt.Sprint("more ", l.round), 5)
	paytest.Must(l.t, err)
}

// recent is what the proof of what is recent finds.
func (l *recentLedger) recent() (found []string, since int64) {
	l.t.Helper()
	books, err := l.b.Proof.ReconcileRecent(l.t.Context(), l.f, nil)
	if err != nil || books.Kind != reconcile.KindRecent || books.Since == nil {
		l.t.Fatalf("%+v, %v", books, err)
	}
	return all(books), books.Since.Checkpoint
}

// full is what the full proof finds that begins anew after each slice, from its place as it is kept.
func (l *recentLedger) full() []string {
	l.t.Helper()
	var from *reconcile.Place
	broken := errors.New("broken off")
	for {
		books, err := l.b.Proof.ReconcileFull(l.t.Context(), l.f, reconcile.FullOptions{From: from,
			Slice: func(_ context.Context, at reconcile.Place, _ time.Duration) error {
				kept, err := json.Marshal(at)
				from = &reconcile.Place{}
				return errors.Join(err, json.Unmarshal(kept, from), broken)
			}})
		if err == nil {
			return all(books)
		}
		if !errors.Is(err, broken) {
			l.t.Fatal(err)
		}
	}
}

func all(books reconcile.Books) []string {
	found := slices.Clone(books.Findings)
	for _, c := range books.Campaigns {
		found = append(found, c.Findings...)
	}
	return found
}

func names(found []string, what string) bool {
	return slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, what) })
}

// TestWhatIsRecentIsProvedWhileItGoesOn: nothing that the ledger does is a finding, whatever checkpoints lie between; a
// change of a row that is recent is found at once, that of one before the checkpoint by the full proof and its slices.
func TestWhatIsRecentIsProvedWhileItGoesOn(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *paytest.Books{"sqlite": paytest.OnSQLite,
		"mysql": paytest.OnMySQL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newRecentLedger(t, open(t))
			var since, last int64
			for range 8 {
				l.goOn()
				var found []string
				if found, since = l.recent(); len(found) > 0 {
					t.Fatalf("round %d: %q", l.round, found)
				}
				last = max(last, since)
			}
			if last < 3 {
				t.Fatalf("the last proof went on from checkpoint %d", since)
			}
			for range 2 { // many links at a step, so that the last one closes all that there is
				l.b.Proof.SetRecent(1000, 1, 0)
				l.goOn()
				if found, _ := l.recent(); len(found) > 0 {
					t.Fatalf("round %d: %q", l.round, found)
				}
				l.b.Proof.SetRecent(3, 20, 0)
			}
			if found := l.full(); len(found) > 0 {
				t.Fatalf("untouched: %q", found)
			}
			l.b.Proof.SetRecent(1000, 20, 0) // one step: what is forged is in the same as the rows that it belongs to
			const newest = "(SELECT m FROM (SELECT MAX(txn_id) AS m FROM payout) x)"
			for what, forgery := range map[string]struct{ sql, back, recent, full string }{
				"a transaction that is closed": {
					"UPDATE txn SET created_at = created_at + 1 WHERE idem_key = 'deposit:acme:more 1'",
					"UPDATE txn SET created_at = created_at - 1 WHERE idem_key = 'deposit:acme:more 1'",
					"", "deposit:acme:more 1"},
				"a balance that is touched again": {
					"UPDATE balance SET amount = amount + 500 WHERE account_id = 'sponsor:acme'",
					"UPDATE balance SET amount = amount - 500 WHERE account_id = 'sponsor:acme'",
					"the balance of sponsor:acme", "the balance of sponsor:acme"},
				"a checkpoint that goes further": {
					"INSERT INTO proof_checkpoint SELECT number + 1, taken_at, ends, last_txn + 100, holes, seal, " +
						"key_id, seal FROM proof_checkpoint ORDER BY number DESC LIMIT 1",
					"DELETE FROM proof_checkpoint WHERE previous = seal", "its seal is wrong", "its seal is wrong"},
				"a sum that is carried": {
					"UPDATE proof_sum SET amount = amount + 1 WHERE subject = 'account sponsor:acme'",
					"UPDATE proof_sum SET amount = amount - 1 WHERE subject = 'account sponsor:acme'",
					"account sponsor:acme", "account sponsor:acme"},
				"sums that are carried are gone": {
					"CREATE TABLE w AS SELECT * FROM proof_sum; DELETE FROM proof_sum WHERE subject = 'escrow c1 pay'",
					"INSERT INTO proof_sum SELECT * FROM w WHERE subject LIKE 'escrow c1 pay'; DROP TABLE w",
					"the balance of escrow:c1", ""},
				"payouts that are new": {
					"UPDATE payout SET amount = amount + 1 WHERE txn_id = " + newest,
					"UPDATE payout SET amount = amount - 1 WHERE txn_id = " + newest,
					"the split says", "the split says"},
				"a campaign's row": {"UPDATE campaign SET sponsor = 'thief' WHERE id = 'c1'",
					"UPDATE campaign SET sponsor = 'acme' WHERE id = 'c1'", "fund:c1", "fund:c1"},
			} {
				l.goOn()
				change(t, l.b, forgery.sql)
				found, _ := l.recent()
				if forgery.recent == "" && len(found) > 0 || forgery.recent != "" && !names(found, forgery.recent) {
					t.Errorf("%s: %q is not named by what is recent in %q", what, forgery.recent, found)
				}
				if found := l.full(); forgery.full != "" && !names(found, forgery.full) {
					t.Errorf("%s: %q is not named by the full proof in %q", what, forgery.full, found)
				}
				change(t, l.b, forgery.back)
				if found, _ := l.recent(); len(found) > 0 {
					t.Fatalf("%s, put right: %q", what, found)
				}
			}
			l.b.CheckBooks(t)
		})
	}
}
