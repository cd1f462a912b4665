package payout

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/rain"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// tick is a clock that rises by one millisecond at each look.
type tick struct{ now atomic.Int64 }

func newTick() *tick {
	c := &tick{}
	c.now.Store(1_763_712_000_000)
	return c
}

func (c *tick) Now() int64 { return c.now.Add(1) }

// books is a ledger under test.
type books struct {
	*Ledger
	t     *testing.T // the subtest that it is for, where onEach made it
	clock *tick
}

func newBooks(t testing.TB, open func() (*sqldb.DB, error)) *books {
	t.Helper()
	db, err := open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	db.Log = quiet
	if err := db.Migrate(context.Background()); err != nil {
		t.Fatal(err)
	}
	clock := newTick()
	return &books{Ledger: NewLedger(db, clock.Now), clock: clock}
}

var quiet = slog.New(slog.DiscardHandler)

// onEach is the conformance suite's way: every test of the ledger runs on every database.
func onEach(t *testing.T, test func(b *books)) {
	t.Helper()
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			b.t = t
			test(b)
		})
	}
}

var databases = map[string]func(testing.TB) *books{"sqlite": onSQLite, "sqlite file": onFile, "mysql": onMySQL}

func onFile(t testing.TB) *books {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	return newBooks(t, func() (*sqldb.DB, error) { return sqldb.OpenSQLite(path) })
}

func onMySQL(t testing.TB) *books {
	t.Helper()
	dsn := testenv.MySQL(t)
	return newBooks(t, func() (*sqldb.DB, error) { return sqldb.OpenMySQL(dsn) })
}

func onSQLite(t testing.TB) *books {
	t.Helper()
	return newBooks(t, func() (*sqldb.DB, error) { return sqldb.OpenSQLite("") })
}

// campaign funds and opens a campaign. Fields of the spec that are zero get something usable.
func (b *books) campaign(t testing.TB, id string, spec rain.Spec) *rain.Campaign {
	t.Helper()
	ctx := context.Background()
	spec.Name = cmp.Or(spec.Name, "Gala")
	spec.Sponsor = cmp.Or(spec.Sponsor, "acme")
	spec.Split = cmp.Or(spec.Split, rain.Even)
	spec.Min = cmp.Or(spec.Min, 1)
	spec.Shards = cmp.Or(spec.Shards, 1)
	spec.WinsPerUser = cmp.Or(spec.WinsPerUser, spec.Packets)
	spec.ExpiresInMS = cmp.Or(spec.ExpiresInMS, rain.DefaultExpiryMS)
	if _, err := b.Deposit(ctx, spec.Sponsor, "for "+id, spec.Budget); err != nil {
		t.Fatal(err)
	}
	c := &rain.Campaign{ID: id, Spec: spec, Status: rain.Loading, CreatedAt: b.clock.Now(),
		ExpiresAt: b.clock.Now() + spec.ExpiresInMS, Revision: 1,
		SplitSeed: rain.Seed{1, 2, 3}}
	if err := b.CreateCampaign(ctx, c); err != nil {
		t.Fatal(err)
	}
	c, err := b.Update(ctx, id, func(c *rain.Campaign) error { c.Stocked(); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// entry is an outbox entry of shard 0. The n-th of a campaign has the id "<n>-0".
func entry(campaign string, n int, wins ...rain.Win) rain.Entry {
	return rain.Entry{Ref: rain.EntryRef{Campaign: campaign, ID: fmt.Sprintf("%d-0", n)}, Wins: wins}
}

func win(user string, packet int, amount rain.Money) rain.Win {
	return rain.Win{User: user, Packet: packet, Amount: amount, Drop: "7.3"}
}

func (b *books) post(t testing.TB, entries ...rain.Entry) Posted {
	t.Helper()
	posted, err := b.Post(context.Background(), entries)
	if err != nil {
		t.Fatal(err)
	}
	return posted
}

// wantBalance fails unless an account holds exactly that.
func (b *books) wantBalance(t testing.TB, a account, want rain.Money) {
	t.Helper()
	got, _, err := balanceOf(context.Background(), b.db, a)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("%s holds %d, want %d", a.id(), got, want)
	}
}

// audit checks what must be true of the books at any moment.
func (b *books) audit(t testing.TB) {
	t.Helper()
	err := b.db.View(context.Background(), func(ctx context.Context, tx *sqldb.Tx) error {
		for what, query := range map[string]string{
			"transactions that do not sum to zero": "SELECT txn_id FROM entry GROUP BY txn_id HAVING SUM(amount) <> 0 OR COUNT(*) < 2",
			"transactions without lines":           "SELECT t.id FROM txn t LEFT JOIN entry e ON e.txn_id = t.id WHERE e.txn_id IS NULL",
			"lines without a transaction":          "SELECT e.txn_id FROM entry e LEFT JOIN txn t ON t.id = e.txn_id WHERE t.id IS NULL",
			"balances that are not their entries": "SELECT b.account_id FROM balance b LEFT JOIN entry e ON e.account_id = b.account_id " +
				"GROUP BY b.account_id, b.amount HAVING b.amount <> COALESCE(SUM(e.amount), 0)",
			"entries without a balance":   "SELECT e.account_id FROM entry e LEFT JOIN balance b ON b.account_id = e.account_id WHERE b.account_id IS NULL",
			"balances without an account": "SELECT b.account_id FROM balance b LEFT JOIN account a ON a.id = b.account_id WHERE a.id IS NULL",
			"negative balances":           "SELECT account_id FROM balance WHERE amount < 0 AND account_id <> 'world'",
			"money from nowhere":          "SELECT SUM(amount) FROM balance HAVING SUM(amount) <> 0",
			"payouts that are not their transactions": "SELECT p.txn_id FROM payout p JOIN entry e ON e.txn_id = p.txn_id AND e.amount < 0 " +
				"GROUP BY p.txn_id, e.amount HAVING SUM(p.amount) <> -e.amount",
			"withdrawals that were not taken out once": "SELECT w.id FROM withdrawal w LEFT JOIN txn t ON t.idem_key = CONCAT('withdraw:', w.id) AND t.kind = 'withdraw' " +
				"LEFT JOIN entry e ON e.txn_id = t.id AND e.account_id = CONCAT('user:', w.user_id) AND e.amount = -w.amount WHERE e.txn_id IS NULL",
			"withdrawals that were given back and have not failed, or the other way round": "SELECT w.id FROM withdrawal w " +
				"LEFT JOIN txn t ON t.idem_key = CONCAT('return:', w.id) AND t.kind = 'return' " +
				"LEFT JOIN entry e ON e.txn_id = t.id AND e.account_id = CONCAT('user:', w.user_id) AND e.amount = w.amount " +
				"WHERE (w.state = 'failed') <> (e.txn_id IS NOT NULL)",
			"money that went out or back without a withdrawal": "SELECT t.idem_key FROM txn t LEFT JOIN withdrawal w " +
				"ON t.idem_key IN (CONCAT('withdraw:', w.id), CONCAT('return:', w.id)) WHERE t.kind IN ('withdraw', 'return') AND w.id IS NULL",
			"withdrawals whose letters do not say whether they are dead": "SELECT w.id FROM withdrawal w WHERE w.dead <> " +
				"(SELECT COUNT(*) FROM dead_letter d WHERE d.claim = w.id AND d.kind = 'withdrawal' AND d.resolved_at = 0)",
			"tallies that are not their payouts": "SELECT t.campaign_id FROM campaign_tally t LEFT JOIN payout p ON p.campaign_id = t.campaign_id " +
				"GROUP BY t.campaign_id, t.paid, t.amount_paid HAVING t.paid <> COUNT(p.packet) OR t.amount_paid <> COALESCE(SUM(p.amount), 0)",
		} {
			err := tx.Each(ctx, func(scan sqldb.Scan) error {
				var row string
				err := scan(&row)
				t.Errorf("%s: %s", what, row)
				return err
			}, query)
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// count is the answer of a query for one number.
func (b *books) count(t testingT, query string, args ...any) (n int) {
	t.Helper()
	if _, err := b.db.First(context.Background(), []any{&n}, query, args...); err != nil {
		t.Fatal(err)
	}
	return n
}

// testingT is what testing.T and rapid.T have in common.
type testingT interface {
	Helper()
	Fatal(args ...any)
}
