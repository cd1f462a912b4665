package paytest

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"redrain/internal/requestid"
	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/reconcile"
	"redrain/rain"
)

// Tick is a clock that advances by one millisecond with each reading.
type Tick struct{ now atomic.Int64 }

func newTick() *Tick {
	c := &Tick{}
	c.now.Store(1_763_712_000_000)
	return c
}

// Now advances the clock by one and returns it.
func (c *Tick) Now() int64 { return c.now.Add(1) }

// Load returns the time without advancing it.
func (c *Tick) Load() int64 { return c.now.Load() }

// Add advances the clock by milliseconds.
func (c *Tick) Add(ms int64) { c.now.Add(ms) }

// Books is a ledger under test, with the methods of all its parts.
type Books struct {
	*posting.Poster
	*posting.Rebuilds
	*ledger.DeadLetters
	*ledger.Campaigns
	*ledger.Sponsors
	*ledger.Claims
	*ledger.Withdrawals
	*ledger.AuditLog
	*ledger.Leases
	*ledger.Answers
	Approvals *ledger.Approvals
	Seals     *posting.Seals
	Moves     *posting.Moves

	DB    *sqldb.DB
	Proof *reconcile.Reconciler
	T     *testing.T // the subtest, if OnEach made it
	Clock *Tick
}

// NewBooks makes an empty ledger on a database, which is closed at the end of the test.
func NewBooks(t testing.TB, open func() (*sqldb.DB, error)) *Books {
	t.Helper()
	db := migrated(t, open)
	if _, err := db.Exec(context.Background(), "UPDATE seal_key SET secret = ?, created_at = 0",
		secret[:]); err != nil {
		t.Fatal(err)
	}
	return booksOn(t, db)
}

// booksOn makes books on a migrated database, with the tests' seal.
func booksOn(t testing.TB, db *sqldb.DB) *Books {
	t.Helper()
	clock := newTick()
	l := ledger.New(db, clock.Now, rain.NewAmountsCache())
	testenv.Must(t, l.Seals.Load(context.Background()))
	return &Books{Poster: l.Poster, Rebuilds: l.Rebuilds, DeadLetters: l.DeadLetters, Approvals: l.Approvals,
		Campaigns: l.Campaigns,
		Sponsors:  l.Sponsors, Claims: l.Claims, Withdrawals: l.Withdrawals, AuditLog: l.Audit, Leases: l.Leases,
		Answers: l.Answers, Seals: l.Seals, Moves: l.Moves, DB: db,
		Proof: reconcile.New(db, l.Campaigns, clock.Now, nil),
		Clock: clock}
}

// Node is another node's view of the same ledger, which has loaded the keys of the seals.
func Node(t testing.TB, b *Books) *ledger.Ledger {
	t.Helper()
	l := ledger.New(b.DB, b.Clock.Now, rain.NewAmountsCache())
	testenv.Must(t, l.Seals.Load(context.Background()))
	return l
}

// Quiet is a log that discards everything.
var Quiet = slog.New(slog.DiscardHandler)

// OpenCampaign funds and opens a campaign, with a rain whose drops are all in the air. Zero fields of the spec get
// usable values.
func (b *Books) OpenCampaign(t testing.TB, id string, spec rain.Spec) *rain.Campaign {
	t.Helper()
	ctx := context.Background()
	spec.Name = cmp.Or(spec.Name, "Gala")
	spec.Sponsor = cmp.Or(spec.Sponsor, "acme")
	spec.Split = cmp.Or(spec.Split, rain.Even)
	spec.Min = cmp.Or(spec.Min, 1)
	spec.Shards = cmp.Or(spec.Shards, 1)
	spec.WinsPerUser = cmp.Or(spec.WinsPerUser, spec.Packets)
	spec.ExpiresInMS = cmp.Or(spec.ExpiresInMS, rain.DefaultSpec().ExpiresInMS)
	testenv.Must(t, testenv.Err(b.Deposit(ctx, spec.Sponsor, "for "+id, spec.Budget)))
	c := &rain.Campaign{ID: id, Spec: spec, Status: rain.Loading, CreatedAt: b.Clock.Now(),
		ExpiresAt: b.Clock.Now() + spec.ExpiresInMS, Revision: 1,
		SplitSeed: splitSeed}
	testenv.Must(t, b.CreateCampaign(ctx, c))
	c, err := b.Update(ctx, id, func(c *rain.Campaign) error {
		c.Stocked()
		c.Rains = append(c.Rains, Rain(id))
		return nil
	})
	testenv.Must(t, err)
	return c
}

// Stocked opens a campaign, and makes a Redis that has its stock.
func (b *Books) Stocked(t testing.TB, id string, spec rain.Spec) (*FakeRedis, *rain.Campaign) {
	t.Helper()
	c := b.OpenCampaign(t, id, spec)
	return NewFakeRedis(b.Clock.Now, c), c
}

// migrated opens an empty database and migrates it.
func migrated(t testing.TB, open func() (*sqldb.DB, error)) *sqldb.DB {
	t.Helper()
	db, err := open()
	testenv.Must(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	db.Log = Quiet
	testenv.Must(t, db.Migrate(context.Background()))
	return db
}

// CloseCampaign closes a campaign, so that its rest may return to its sponsor.
func (b *Books) CloseCampaign(t testing.TB, id string) *rain.Campaign {
	t.Helper()
	c, err := b.Update(context.Background(), id, func(c *rain.Campaign) error { return c.Close(b.Clock.Now()) })
	testenv.Must(t, err)
	return c
}

// Drain marks a closed campaign as drained.
func (b *Books) Drain(t testing.TB, id string) *rain.Campaign {
	t.Helper()
	return testenv.Got(b.Update(context.Background(), id,
		func(c *rain.Campaign) error { c.Drained = true; return nil })).Must(t)
}

// MustPost posts entries, which must succeed.
func (b *Books) MustPost(t testing.TB, entries ...rain.Entry) posting.Posted {
	t.Helper()
	posted, err := b.Post(context.Background(), entries)
	testenv.Must(t, err)
	return posted
}

// WriteLetter writes a dead letter.
func (b *Books) WriteLetter(d posting.DeadLetter) error {
	return b.DB.InTx(context.Background(), func(ctx context.Context, tx *sqldb.Tx) error {
		return posting.WriteLetters(ctx, tx, []posting.DeadLetter{d}, 1)
	})
}

// Statement runs one statement in its own transaction, and fails the test on an error.
func (b *Books) Statement(t testing.TB, statement string) {
	t.Helper()
	testenv.Must(t, testenv.Err(b.DB.Exec(context.Background(), statement)))
}

// MustFence begins a rebuild of a shard of c1 and fences it.
func (b *Books) MustFence(t testing.TB, shard int) (barrier rain.EntryRef) {
	t.Helper()
	attempt, err := b.BeginRebuild(t.Context(), "c1", shard)
	testenv.Must(t, err)
	id, err := b.Fence(t.Context(), "c1", shard, attempt)
	testenv.Must(t, err)
	return rain.EntryRef{Campaign: "c1", Shard: shard, ID: id.Entry}
}

// GiveEscrow adds money to a campaign's escrow, as only an operator could.
func (b *Books) GiveEscrow(t testing.TB, campaign string, amount rain.Money) {
	t.Helper()
	testenv.Must(t, b.InTx(t, []booking.Txn{booking.Move(booking.KindDeposit, "by hand", booking.World,
		booking.EscrowAccount(campaign), amount)}))
}

// LoadingCampaign is a campaign that a sponsor with enough money may create.
func (b *Books) LoadingCampaign(t testing.TB, id string) *rain.Campaign {
	t.Helper()
	testenv.Must(t, testenv.Err(b.Deposit(t.Context(), "acme", "for "+id, 100)))
	return FullCampaign(id)
}

// SettleAll posts and removes the entries in the outbox of a shard of c1.
func (b *Books) SettleAll(t testing.TB, f *FakeRedis, shard int) {
	t.Helper()
	entries, err := f.Oldest("c1", shard, 1000)
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

// MustWithdraw begins a withdrawal, and fails the test on an error.
func (b *Books) MustWithdraw(t testing.TB, id, user string, amount rain.Money) ledger.Withdrawal {
	t.Helper()
	w, _, err := b.Withdraw(requestid.With(t.Context(), Request), id, user, amount)
	testenv.Must(t, err)
	return w
}

// Bank is the receiver in tests with one receiver.
const Bank = "bank"

// LeaseOne leases the one due withdrawal, for a minute, for Bank.
func (b *Books) LeaseOne(t testing.TB) ledger.Withdrawal {
	t.Helper()
	taken, err := b.LeaseDue(t.Context(), Bank, 10, time.Minute)
	if err != nil || len(taken) != 1 {
		t.Fatalf("leased %+v, %v", taken, err)
	}
	return taken[0]
}

// MustSend begins a withdrawal and sends it to Bank. No other may be due.
func (b *Books) MustSend(t testing.TB, id, user string, amount rain.Money) ledger.Withdrawal {
	t.Helper()
	b.MustWithdraw(t, id, user, amount)
	return b.LeaseOne(t)
}

// Request is the id of the HTTP request in the contexts of As.
const Request = "4bf92f3577b34da6a3ce929d0e0e4736"

// As returns a context with an audit record and a request.
func As(t testing.TB, action string) context.Context {
	t.Helper()
	ctx := requestid.With(context.Background(), Request)
	return ledger.WithAudit(ctx, ledger.AuditRecord{Actor: "ann", Role: "operator", Action: action,
		Detail: json.RawMessage(`{"address":"::1"}`)})
}

// Retry retries the dead letters of a claim as an operator.
func Retry(ctx context.Context, a *ledger.Approvals, claim string) ([]posting.Settlement, error) {
	o, err := a.Do(ctx, ledger.Deed{Act: ledger.ActRetry, Target: claim}, ledger.Person{Name: "ann"})
	return o.Settled, err
}

// Retry is the function Retry on these books.
func (b *Books) Retry(ctx context.Context, claim string) ([]posting.Settlement, error) {
	return Retry(ctx, b.Approvals, claim)
}

// Dismiss dismisses the dead letters of a claim, or one of them, as an operator.
func (b *Books) Dismiss(ctx context.Context, claim string, letter int64, why string) (ledger.Dismissed, error) {
	o, err := b.Approvals.Do(ctx, ledger.Deed{Act: ledger.ActDismiss, Target: claim, Letter: letter},
		ledger.Person{Name: "ann", Reason: why})
	return o.Dismissed, err
}

// RetryAll is RetryAll of the approvals.
func (b *Books) RetryAll(ctx context.Context, campaign string,
	tell func([]posting.Settlement)) (ledger.Redriven, error) {
	return b.Approvals.RetryAll(ctx, campaign, tell)
}

// InTx books transactions without checks.
func (b *Books) InTx(t testing.TB, txns []booking.Txn) error {
	t.Helper()
	return b.DB.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := booking.Book(ctx, tx, b.Clock.Now(), txns, nil)
		return err
	})
}
