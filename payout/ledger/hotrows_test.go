package ledger_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
	"redrain/rain"
)

// hotRows are queries for the rows of each kind that many nodes lock or append to.
var hotRows = map[string]string{
	"campaign":       "SELECT id FROM campaign WHERE id = 'c1'",
	"campaign_tally": "SELECT campaign_id FROM campaign_tally WHERE campaign_id = 'c1'",
	"shard_mark":     "SELECT campaign_id FROM shard_mark WHERE campaign_id = 'c1'",
	"winner":         "SELECT user_id FROM winner",
	"payout":         "SELECT packet FROM payout",
	"txn":            "SELECT id FROM txn",
	"seal_key":       "SELECT id FROM seal_key",
	"lease":          "SELECT name FROM lease",
	"withdrawal":     "SELECT id FROM withdrawal",
	"provider_pace":  "SELECT receiver FROM provider_pace",
	"sponsor":        "SELECT account_id FROM balance WHERE account_id = '" + booking.SponsorAccount("acme").ID() + "'",
	"escrow":         "SELECT account_id FROM balance WHERE account_id = '" + booking.EscrowAccount("c1").ID() + "'",
	"player":         "SELECT account_id FROM balance WHERE account_id = '" + booking.UserAccount("u1").ID() + "'",
	"world":          "SELECT account_id FROM balance WHERE account_id LIKE 'world:%'",
	"clearing":       "SELECT account_id FROM balance WHERE account_id LIKE 'clearing:%'",
	"all balances":   "SELECT account_id FROM balance",
}

// hottest are the kinds that every run tests: most operations lock their rows.
var hottest = []string{"campaign", "payout", "withdrawal", "all balances"}

// longestWait is the longest wait for a node that is frozen.
const longestWait = 5 * time.Second

// TestEachHotRowIsGivenBack: for each kind of row, a process is stopped while it has locked all of them. All
// operations of other nodes succeed within longestWait. When the process resumes, its transaction is lost and has
// written nothing. A slow operation is tried again on other books, because the machine may be slow once.
func TestEachHotRowIsGivenBack(t *testing.T) {
	t.Parallel()
	for kind, query := range hotRows {
		t.Run(kind, func(t *testing.T) {
			if !slices.Contains(hottest, kind) {
				testenv.RunsFrom(t, testenv.Nightly)
			}
			t.Parallel()
			late := freezeAndRevive(t, query)
			if len(late) == 0 {
				return
			}
			t.Logf("once more, for these took too long: %v", late)
			for _, w := range freezeAndRevive(t, query) {
				t.Errorf("%s took %v, %v; want less than %v", w.what, w.took, w.err, longestWait)
			}
		})
	}
}

// freezeAndRevive freezes a node with rows in its hands, and returns who waited for them for too long, or in vain.
func freezeAndRevive(t *testing.T, query string) (late []waited) {
	t.Helper()
	dsn := testenv.MySQL(t)
	b := busyBooks(t, dsn)
	wants := hotWants(b)
	wants = append(wants, want{"the rows themselves", func() error {
		return b.DB.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := sqldb.Column[string](ctx, tx, query+tx.ForUpdate())
			return err
		})
	}})
	frozen := paytest.Freeze(t, dsn, query)
	for _, w := range atOnce(wants) {
		if w.err != nil && !sqldb.IsBusy(w.err) {
			t.Errorf("%s: %v", w.what, w.err)
		}
		if w.err != nil || w.took >= longestWait {
			late = append(late, w)
		}
	}
	// Another node has the locks by now, so the transaction is over, even if its node does not know it.
	forged := "UPDATE balance SET amount = amount + 1000 WHERE account_id = '" + booking.UserAccount("u1").ID() + "'"
	if said := frozen.Revive(t, forged); said == "<nil>" && len(late) == 0 {
		t.Error("the frozen node has written into rows that were others' meanwhile")
	}
	if len(late) == 0 {
		b.CheckBooks(t)
	}
	return late
}

// busyBooks makes books with default limits and a row of each kind.
func busyBooks(t *testing.T, dsn string) *paytest.Books {
	t.Helper()
	b := paytest.NewBooks(t, func() (*sqldb.DB, error) { return sqldb.OpenMySQL(dsn) })
	b.T = t
	b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 100})
	b.Rich(t, "u1", 100)
	b.Rich(t, "u2", 100)
	b.MustPost(t, paytest.Entry("c1", 2, paytest.Win("v", 2, 1)))
	b.MustWithdraw(t, "under way", "u1", 1)
	b.MustWithdraw(t, "due", "u1", 1)
	testenv.Must(t, testenv.Err(paced(b).LeaseDue(t.Context(), paytest.Bank, 1, time.Minute)))
	testenv.Must(t, testenv.Err(b.Lease(t.Context(), "job", "x", time.Minute)))
	return b
}

func paced(b *paytest.Books) *ledger.Withdrawals {
	return b.Paced(ledger.ReceiverLimits{Rate: 1e6, InFlight: 100})
}

// hotWants are frequent operations of other nodes.
func hotWants(b *paytest.Books) []want {
	ctx := b.T.Context()
	return append(append(contended(b), free(b)...),
		want{"the next payments", func() error {
			_, err := paced(b).LeaseDue(ctx, paytest.Bank, 1, time.Minute)
			return err
		}},
		want{"the lease of a job", func() error {
			_, err := b.Lease(ctx, "job", "x", time.Minute)
			return err
		}},
		want{"a pause of the campaign", func() error {
			_, err := b.Update(ctx, "c1", func(c *rain.Campaign) error {
				c.Status = rain.Paused
				return nil
			})
			return err
		}},
		want{"new seals", func() error {
			_, err := b.Seals.Rotate(ctx)
			return err
		}})
}
