package paytest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// Tick is a clock that rises by one millisecond at each look.
type Tick struct{ now atomic.Int64 }

func newTick() *Tick {
	c := &Tick{}
	c.now.Store(1_763_712_000_000)
	return c
}

// Now is one more than the last time.
func (c *Tick) Now() int64 { return c.now.Add(1) }

// Load is the time as it is, which does not rise by this look.
func (c *Tick) Load() int64 { return c.now.Load() }

// Add lets milliseconds pass.
func (c *Tick) Add(ms int64) { c.now.Add(ms) }

// Books is a ledger under test.
type Books struct {
	*ledger.Ledger

	DB    *sqldb.DB
	Proof *reconcile.Reconciler
	T     *testing.T // the subtest that it is for, where OnEach made it
	Clock *Tick
}

// NewBooks makes an empty ledger on a database, which is closed at the end of the test.
func NewBooks(t testing.TB, open func() (*sqldb.DB, error)) *Books {
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
	db.Log = Quiet
	if err := db.Migrate(context.Background()); err != nil {
		t.Fatal(err)
	}
	clock := newTick()
	ledger := ledger.New(db, clock.Now)
	return &Books{Ledger: ledger, DB: db, Proof: reconcile.New(db, ledger, clock.Now), Clock: clock}
}

// Quiet is a log that nobody reads.
var Quiet = slog.New(slog.DiscardHandler)

// OnEach is the conformance suite's way: every test of the ledger runs on every database, on all of them at the same
// time.
func OnEach(t *testing.T, test func(b *Books)) {
	t.Helper()
	for name, open := range Databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runOn(t, open, test)
		})
	}
}

// OnEachInTurn is OnEach for tests that keep the processors busy: one database after the other, and nothing beside.
func OnEachInTurn(t *testing.T, test func(b *Books)) {
	t.Helper()
	for name, open := range Databases {
		t.Run(name, func(t *testing.T) { runOn(t, open, test) })
	}
}

func runOn(t *testing.T, open func(testing.TB) *Books, test func(b *Books)) {
	t.Helper()
	b := open(t)
	b.T = t
	test(b)
}

// Databases are the databases of the conformance suite, by name, each with the function that makes books on it.
var Databases = map[string]func(testing.TB) *Books{"sqlite": OnSQLite, "sqlite file": onFile, "mysql": OnMySQL}

func onFile(t testing.TB) *Books {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	return NewBooks(t, func() (*sqldb.DB, error) { return sqldb.OpenSQLite(path) })
}

// OnMySQL makes books on a MySQL or MariaDB database of their own.
func OnMySQL(t testing.TB) *Books {
	t.Helper()
	dsn := testenv.MySQL(t)
	return NewBooks(t, func() (*sqldb.DB, error) { return sqldb.OpenMySQL(dsn) })
}

// OnSQLite makes books on a SQLite database in memory.
func OnSQLite(t testing.TB) *Books {
	t.Helper()
	return NewBooks(t, func() (*sqldb.DB, error) { return sqldb.OpenSQLite("") })
}

// OpenCampaign funds and opens a campaign. Fields of the spec that are zero get something usable.
func (b *Books) OpenCampaign(t testing.TB, id string, spec rain.Spec) *rain.Campaign {
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
	c := &rain.Campaign{ID: id, Spec: spec, Status: rain.Loading, CreatedAt: b.Clock.Now(),
		ExpiresAt: b.Clock.Now() + spec.ExpiresInMS, Revision: 1,
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

// Entry is an outbox entry of shard 0. The n-th of a campaign has the id "<n>-0".
func Entry(campaign string, n int, wins ...rain.Win) rain.Entry {
	return rain.Entry{Ref: rain.EntryRef{Campaign: campaign, ID: fmt.Sprintf("%d-0", n)}, Wins: wins}
}

// Win is a win of a player, in the drop 7.3.
func Win(user string, packet int, amount rain.Money) rain.Win {
	return rain.Win{User: user, Packet: packet, Amount: amount, Drop: "7.3"}
}

// MustPost posts entries, which must succeed.
func (b *Books) MustPost(t testing.TB, entries ...rain.Entry) posting.Posted {
	t.Helper()
	posted, err := b.Post(context.Background(), entries)
	if err != nil {
		t.Fatal(err)
	}
	return posted
}

// WantBalance fails unless an account holds exactly that.
func (b *Books) WantBalance(t testing.TB, a booking.Account, want rain.Money) {
	t.Helper()
	got, _, err := booking.BalanceOf(context.Background(), b.DB, a)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("%s holds %d, want %d", a.ID(), got, want)
	}
}

// CheckBooks checks what must be true of the books at any moment.
func (b *Books) CheckBooks(t testing.TB) {
	t.Helper()
	err := b.DB.View(context.Background(), time.Minute, func(ctx context.Context, tx *sqldb.Tx) error {
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

// Exec runs one statement in a transaction of its own.
func (b *Books) Exec(ctx context.Context, what, statement string, args ...any) error {
	return ledger.Exec(ctx, b.DB, what, statement, args...)
}

// Count is the answer of a query for one number.
func (b *Books) Count(t testingT, query string, args ...any) (n int) {
	t.Helper()
	if _, err := b.DB.First(context.Background(), []any{&n}, query, args...); err != nil {
		t.Fatal(err)
	}
	return n
}

// testingT is what testing.T and rapid.T have in common.
type testingT interface {
	Helper()
	Fatal(args ...any)
}

// Refuse makes the database refuse every payout to a player; allow undoes it.
func (b *Books) Refuse(t testing.TB, user string) (allow func()) {
	t.Helper()
	trigger := "CREATE TRIGGER poison BEFORE INSERT ON payout WHEN NEW.user_id = '" + user + "' BEGIN SELECT RAISE(ABORT, 'no money for you'); END"
	if b.DB.Dialect() == sqldb.MySQL {
		trigger = "CREATE TRIGGER poison BEFORE INSERT ON payout FOR EACH ROW IF NEW.user_id = '" + user +
			"' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no money for you'; END IF"
	}
	b.Statement(t, trigger)
	return func() { b.Statement(t, "DROP TRIGGER poison") }
}

// Statement runs one statement in a transaction of its own, which must succeed.
func (b *Books) Statement(t testing.TB, statement string) {
	t.Helper()
	err := b.DB.InTx(context.Background(), func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, statement)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ClaimState is the state of a player's claim; it is empty for a claim that the books do not know.
func (b *Books) ClaimState(t testing.TB, user, claim string) ledger.ClaimState {
	t.Helper()
	states, err := b.ClaimStates(context.Background(), user, []string{claim})
	if err != nil {
		t.Fatal(err)
	}
	return states[claim]
}

// ReclaimEntry is the n-th entry of a shard of c1, which gives 30 minor units of unwon packets back.
func ReclaimEntry(shard, n, packets int) rain.Entry {
	return rain.Entry{Ref: rain.EntryRef{Campaign: "c1", Shard: shard, ID: fmt.Sprintf("%d-0", n)},
		Reclaim: &rain.Reclaim{Packets: packets, Amount: 30}}
}

// MustFence begins a rebuild of a shard of c1 and fences it.
func (b *Books) MustFence(t testing.TB, shard int) (barrier rain.EntryRef) {
	t.Helper()
	attempt, err := b.BeginRebuild(t.Context(), "c1", shard)
	if err != nil {
		t.Fatal(err)
	}
	id, err := b.Fence(t.Context(), "c1", shard, attempt)
	if err != nil {
		t.Fatal(err)
	}
	return rain.EntryRef{Campaign: "c1", Shard: shard, ID: id}
}

// Taken lists the packets of a campaign that are somebody's.
func (b *Books) Taken(t testing.TB, c *rain.Campaign) []posting.Taken {
	t.Helper()
	var all []posting.Taken
	if err := b.EachTaken(t.Context(), c, 0, c.Packets, func(k posting.Taken) error {
		all = append(all, k)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// GiveEscrow puts money into a campaign's escrow, as nothing but a person with a reason would.
func (b *Books) GiveEscrow(t testing.TB, campaign string, amount rain.Money) {
	t.Helper()
	err := b.DB.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := booking.Book(ctx, tx, b.Clock.Now(), []booking.Txn{booking.Move(booking.KindDeposit, "by hand", booking.World, booking.EscrowAccount(campaign), amount)}, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// LoadingCampaign is a campaign that a sponsor with enough money may create.
func (b *Books) LoadingCampaign(t testing.TB, id string) *rain.Campaign {
	t.Helper()
	if _, err := b.Deposit(t.Context(), "acme", "for "+id, 100); err != nil {
		t.Fatal(err)
	}
	return FullCampaign(id)
}

// Prove reconciles a campaign with snapshots of its shards, and checks that the parts add up to what was funded.
func (b *Books) Prove(t testing.TB, c *rain.Campaign, shards []rain.ShardSnapshot) reconcile.Reconciliation {
	t.Helper()
	r, err := b.Proof.Reconcile(t.Context(), c, shards)
	if err != nil {
		t.Fatal(err)
	}
	if r.Funded != r.Paid+r.Reclaimed+r.Stock+r.Unsettled+r.Dead+r.Difference {
		t.Errorf("the sum does not hold: %+v", r)
	}
	return r
}

// SettleAll posts what waits in the outbox of a shard of c1, and removes it.
func (b *Books) SettleAll(t testing.TB, f *FakeRedis, shard int) {
	t.Helper()
	entries, err := f.Read(t.Context(), "c1", shard, "test", 1000)
	if err != nil || len(entries) == 0 {
		return
	}
	b.MustPost(t, entries...)
	for _, e := range entries {
		if err := f.Remove(t.Context(), []rain.EntryRef{e.Ref}); err != nil {
			t.Error(err)
		}
	}
}

// Rich gives a player money, by a win.
func (b *Books) Rich(t testing.TB, user string, amount rain.Money) {
	t.Helper()
	id := "for-" + user
	b.OpenCampaign(t, id, rain.Spec{Budget: amount, Packets: 1})
	b.MustPost(t, Entry(id, 1, Win(user, 0, amount)))
}

// MustWithdraw begins a withdrawal, which must succeed.
func (b *Books) MustWithdraw(t testing.TB, id, user string, amount rain.Money) ledger.Withdrawal {
	t.Helper()
	w, _, err := b.Withdraw(t.Context(), id, user, amount)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// LeaseOne takes the one withdrawal that is due, for a minute.
func (b *Books) LeaseOne(t testing.TB) ledger.Withdrawal {
	t.Helper()
	taken, err := b.LeaseDue(t.Context(), 10, time.Minute)
	if err != nil || len(taken) != 1 {
		t.Fatalf("leased %+v, %v", taken, err)
	}
	return taken[0]
}

// WantWithdrawal fails the test unless a withdrawal is in a state after so many tries. It returns the withdrawal.
func (b *Books) WantWithdrawal(t testing.TB, id string, state ledger.WithdrawalState, attempts int) ledger.Withdrawal {
	t.Helper()
	w, err := b.Withdrawal(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if w.State != state || w.Attempts != attempts || (w.FinishedAt == 0) != (state == ledger.WithdrawalPending) {
		t.Errorf("%s is %+v, want %s after %d tries", id, w, state, attempts)
	}
	return w
}

// Must fails the test on an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Waits tells whether a table of MariaDB's says so.
func (b *Books) Waits(t testing.TB, table, where string) bool {
	t.Helper()
	return b.Count(t, "SELECT COUNT(*) FROM information_schema."+table+" WHERE "+where) > 0
}

// As is a context under which changes are audited.
func As(t testing.TB, action string) context.Context {
	t.Helper()
	return ledger.WithAudit(context.Background(), ledger.AuditRecord{Actor: "ann", Role: "operator", Action: action,
		Detail: json.RawMessage(`{"address":"::1"}`)})
}

// LastAudit is the newest record, and how many there are.
func (b *Books) LastAudit(t testing.TB) (last ledger.AuditRecord, before, after map[string]any, n int) {
	t.Helper()
	list, _, err := b.ListAudit(context.Background(), "", 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		return last, nil, nil, 0
	}
	var detail struct {
		Before map[string]any `json:"before"`
		After  map[string]any `json:"after"`
	}
	if err := json.Unmarshal(list[0].Detail, &detail); err != nil {
		t.Fatal(err)
	}
	return list[0], detail.Before, detail.After, b.Count(t, "SELECT COUNT(*) FROM audit")
}

// InTx books transactions as they are.
func (b *Books) InTx(t *testing.T, txns []booking.Txn) error {
	t.Helper()
	return b.DB.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := booking.Book(ctx, tx, b.Clock.Now(), txns, nil)
		return err
	})
}

// FullCampaign is a loading campaign of three packets with every field of its spec set.
func FullCampaign(id string) *rain.Campaign {
	most := rain.Money(60)
	return &rain.Campaign{
		ID: id,
		Spec: rain.Spec{
			Name: "新年 Gala 🧧", Sponsor: "acme", Budget: 100, Packets: 3, Split: rain.List, Min: 10, Max: &most,
			Amounts: []rain.Money{50, 30, 20}, WinsPerUser: 2, TapsPerUser: 7, Shards: 2, ExpiresInMS: 1000,
		},
		Status: rain.Loading, CreatedAt: 5, ExpiresAt: 1005, Revision: 1, SplitSeed: rain.Seed{9, 8, 7},
	}
}

// DeadLetters counts the dead letters that wait.
func (b *Books) DeadLetters(t testingT) int {
	t.Helper()
	return b.Count(t, "SELECT COUNT(*) FROM dead_letter WHERE resolved_at = 0")
}
