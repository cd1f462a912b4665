package reconcile_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/export"
	"redrain/payout/ledger"
	"redrain/payout/ledger/chain"
	"redrain/payout/ledger/posting"
	"redrain/payout/ledger/standing"
	"redrain/payout/paytest"
	"redrain/rain"
)

// fullLedger makes books with a row in every table. Campaigns are open (c1), closed (c2) and drained (c3), with a
// dead letter, moves and shortened reclaims. There are withdrawals in every state, with its name, and the nodes' own
// tables.
func fullLedger(t testing.TB, b *paytest.Books) *paytest.FakeRedis {
	t.Helper()
	f := paytest.NewFakeRedis(b.Clock.Now)
	fillCampaigns(t, b, f)
	fillDrained(t, b, f)
	fillWaiting(t, b, f)
	fillRemoved(t, b, "DELETE FROM payout WHERE campaign_id = 'c5'")
	fillWithdrawals(t, b)
	fillHeld(t, b, f)
	fillUpkeep(t, b)
	return f
}

func fillCampaigns(t testing.TB, b *paytest.Books, f *paytest.FakeRedis) {
	t.Helper()
	ctx := t.Context()
	amounts := slices.Repeat([]rain.Money{40, 60}, 10)
	f.Open(b.OpenCampaign(t, "c1", rain.Spec{Budget: 1000, Packets: 20, Shards: 2, Split: rain.List, Amounts: amounts,
		WinsPerUser: 9}))
	f.Win("c1", 0, "u1", "u1", "u2")
	b.SettleAll(t, f, 0)
	lent := f.Lend("c1", 0, 1, "done", 2)
	testenv.Must(t, b.Moves.Write(ctx, "c1", 0, *lent))
	testenv.Must(t, b.Moves.Done(ctx, "done", f.Borrow("c1", *lent)))
	f.Done("c1", 0, "done")
	testenv.Must(t, b.Moves.Write(ctx, "c1", 0, *f.Lend("c1", 0, 1, "underway", 1)))
	f.Win("c1", 1, "v")
	b.SettleAll(t, f, 1)
	f.Win("c1", 1, "w")
	e := f.Entries(paytest.FakeKey{Campaign: "c1", Shard: 1})[0]
	testenv.Equal(t, testenv.Got(b.Attempt(ctx, e, errors.New("refused"), 1)).Must(t).GivenUp, true, "given up")
	testenv.Must(t, f.Remove(ctx, []rain.EntryRef{e.Ref}))
	f.Win("c1", 0, "late")
	waits := f.Entries(paytest.FakeKey{Campaign: "c1"})[0]
	testenv.Equal(t, testenv.Got(b.Attempt(ctx, waits, errors.New("refused"), 5)).Must(t).GivenUp, false, "given up")

	f.Open(b.OpenCampaign(t, "c4", rain.Spec{Budget: 10, Packets: 1}))
	attempt := testenv.Got(b.BeginRebuild(ctx, "c4", 0)).Must(t)
	barrier := testenv.Got(b.Fence(ctx, "c4", 0, attempt)).Must(t)
	f.Restore("c4", 0, paytest.Restored{Stock: paytest.Packets(0, 0), Barrier: barrier})

	f.Open(b.OpenCampaign(t, "c2", rain.Spec{Budget: 100, Packets: 10}))
	f.Win("c2", 0, "x")
	b.CloseCampaign(t, "c2")
	f.Close("c2", 0)
	b.MustPost(t, f.Entries(paytest.FakeKey{Campaign: "c2"})...)
}

// fillDrained makes c3, whose Redis forgot a win, and so reclaimed its packet.
func fillDrained(t testing.TB, b *paytest.Books, f *paytest.FakeRedis) {
	t.Helper()
	f.Open(b.OpenCampaign(t, "c3", rain.Spec{Budget: 200, Packets: 4}))
	b.MustPost(t, paytest.Entry("c3", 1, paytest.Win("u1", 0, 50), paytest.Win("y", 1, 50)))
	b.CloseCampaign(t, "c3")
	back := paytest.Seal(rain.Entry{Ref: rain.EntryRef{Campaign: "c3", ID: "9-0"},
		Reclaim: &rain.Reclaim{Numbers: paytest.Packets(1, 3)}})
	testenv.Equal(t, len(b.MustPost(t, back).Cut), 1, "cuts")
	testenv.Must(t, testenv.Err(b.Update(paytest.As(t, "campaign.close"), "c3", func(c *rain.Campaign) error {
		c.Drained = true
		return c.Close(b.Clock.Now())
	})))
	f.Lose("c3", 0)
}

// fillWaiting makes three campaigns. c6 is drained except for a dead-lettered win and reclaim. In c7 such ones were
// retried. c8 was abandoned before it was stocked, and its Redis reclaims its packets.
func fillWaiting(t testing.TB, b *paytest.Books, f *paytest.FakeRedis) {
	t.Helper()
	ctx := t.Context()
	drain := func(id string) {
		testenv.Must(t, testenv.Err(b.Update(ctx, id,
			func(c *rain.Campaign) error { c.Drained = true; return c.Close(b.Clock.Now()) })))
	}
	for _, id := range []string{"c6", "c7"} {
		f.Open(b.OpenCampaign(t, id, rain.Spec{Budget: 30, Packets: 3}))
		f.Win(id, 0, "u1")
		b.CloseCampaign(t, id)
		f.Close(id, 0)
		for _, e := range f.Entries(paytest.FakeKey{Campaign: id}) {
			testenv.Equal(t, testenv.Got(b.Attempt(ctx, e, errors.New("refused"), 1)).Must(t).GivenUp, true, "given up")
			if id == "c7" {
				testenv.Must(t, f.Remove(ctx, []rain.EntryRef{e.Ref}))
			}
		}
		drain(id)
	}
	testenv.Equal(t, testenv.Got(b.RetryAll(ctx, "c7", func([]posting.Settlement) {})).Must(t).Settled, 2, "settled")
	loading := b.LoadingCampaign(t, "c8")
	loading.Name = "Gala" // MariaDB's EXPLAIN FORMAT=JSON fails with names beyond ASCII
	testenv.Must(t, b.CreateCampaign(ctx, loading))
	c := testenv.Got(b.Abandon(ctx, "c8")).Must(t)
	f.Open(c)
	for shard := range c.Shards {
		f.Close("c8", shard)
		b.MustPost(t, f.Entries(paytest.FakeKey{Campaign: "c8", Shard: shard})...)
	}
	drain("c8")
}

// fillRemoved makes c5, which is over, and whose payouts were removed after an export.
func fillRemoved(t testing.TB, b *paytest.Books, removal string) {
	t.Helper()
	ctx := t.Context()
	b.OpenCampaign(t, "c5", rain.Spec{Budget: 50, Packets: 5})
	b.MustPost(t, paytest.Entry("c5", 1, paytest.Win("u1", 0, 10), paytest.Win("z", 1, 10), paytest.Win("u1", 2, 10),
		paytest.Win("x", 3, 10)))
	b.CloseCampaign(t, "c5")
	b.MustPost(t, paytest.Seal(rain.Entry{Ref: rain.EntryRef{Campaign: "c5", ID: "9-0"},
		Reclaim: &rain.Reclaim{Numbers: paytest.Packets(4, 4), Amount: 10}}))
	b.Drain(t, "c5")
	var file bytes.Buffer
	testenv.Must(t, testenv.Err(export.New(b.DB, b.Clock.Now).Write(ctx, "c5", "ann", nil, &file)))
	f := testenv.Got(export.Verify(&file)).Must(t)
	testenv.Must(t, b.Audit(ctx, ledger.AuditRecord{Actor: "ann", Action: "campaign.export", Target: "campaign:c5",
		Detail: []byte(`{"sha256":"` + f.SHA256 + `"}`)}))
	change(t, b, "INSERT INTO archive (campaign_id, file, payouts, amount, actor, removed_at) SELECT campaign_id, '"+
		f.SHA256+"', paid, amount_paid, 'ann', 1 FROM campaign_tally WHERE campaign_id = 'c5';"+
		removal+"; DELETE FROM winner WHERE campaign_id = 'c5'")
}

func fillWithdrawals(t testing.TB, b *paytest.Books) {
	t.Helper()
	ctx := t.Context()
	testenv.Must(t, testenv.Err(b.Deposit(paytest.As(t, "sponsor.deposit"), "acme", "more", 7)))
	send := func(id string) ledger.Withdrawal { return b.MustSend(t, id, "u1", 3) }
	testenv.Must(t, b.RecordPaid(ctx, send("w-paid"), "ref 1"))
	testenv.Must(t, b.RecordRefused(ctx, send("w-refused"), "no such account"))
	testenv.Must(t, b.RecordDead(ctx, send("w-dead"), "no answer"))
	testenv.Must(t, b.RecordWaiting(ctx, send("w-action"), ledger.Waiting{State: ledger.WithdrawalAction,
		Action:    ledger.Action{URL: "https://bank.example/1", Data: "package", Until: 9_000_000_000_000},
		Reference: "ref 2", After: time.Hour}))
	link := paytest.Node(t, b).Payees.Link
	testenv.Must(t, link(ctx, "u1", map[string]string{"wechat": "wx1:o1", "alipay": "2088"}, 1))
	testenv.Must(t, paytest.Err3(b.PaidTo(ledger.WeChatPayees("wx1")).Withdraw(ctx, "w-sent", "u1", 3)))
	paced := b.Paced(ledger.ReceiverLimits{Rate: 1, InFlight: 1})
	testenv.Got(paced.LeaseDue(ctx, paytest.Bank, 1, time.Hour)).Len(t, 1, "leased withdrawals")
	b.MustWithdraw(t, "w-requested", "u1", 3)
}

// fillHeld makes h1 with a held, a released and a returned win.
func fillHeld(t testing.TB, b *paytest.Books, f *paytest.FakeRedis) {
	t.Helper()
	f.Open(b.OpenCampaign(t, "h1", rain.Spec{Budget: 60, Packets: 6, WinsPerUser: 9}))
	l := paytest.Node(t, b)
	testenv.Must(t, testenv.Err(l.Risk.Give(t.Context(), ledger.ByRules, standing.Verdict{User: "bot",
		Act: standing.Hold, Score: 70, Reasons: standing.EncodeReasons([]standing.Reason{{Rule: "fast_hands", Score: 70,
			Sentence: "too fast"}})})))
	b.HoldWins()
	f.Win("h1", 0, "bot", "bot", "bot", "person")
	entries := f.Entries(paytest.FakeKey{Campaign: "h1"})
	testenv.Equal(t, b.MustPost(t, entries...).Held, 3, "held")
	b.MustPost(t, f.Entries(paytest.FakeKey{Campaign: "h1"})...) // a copy
	testenv.Must(t, f.Remove(t.Context(), []rain.EntryRef{entries[0].Ref}))
	by := ledger.Person{Name: "ann", ID: "token:ann", Reason: "looked at"}
	testenv.Must(t, testenv.Err(l.Risk.Confirm(t.Context(), []string{"h1-1"}, by)))
	testenv.Must(t, testenv.Err(l.Risk.Release(t.Context(), []string{"h1-2"}, by)))
}

// fillUpkeep fills the nodes' own tables.
func fillUpkeep(t testing.TB, b *paytest.Books) {
	t.Helper()
	ctx := t.Context()
	testenv.Must(t, testenv.Err(b.Lease(ctx, "a job", "a node", time.Hour)))
	testenv.Must(t, testenv.Err(b.Begin(ctx, "key", []byte("body"))))
	testenv.Must(t, paytest.Node(t, b).Proofs.NoteProofs(ctx,
		[]ledger.Proof{{Campaign: "c1", ProvedAt: 1, Balanced: true}, {ProvedAt: 1}}))
	for n, reference := range []string{"order 1", "order 2"} {
		nothing := rain.Money(0)
		two := b.Approvals.Above(&nothing)
		o := testenv.Got(two.Do(ctx, ledger.Deed{Act: ledger.ActDeposit, Target: "acme", Amount: 5,
			Reference: reference}, ledger.Person{Name: "ann", ID: "token:ann"})).Must(t)
		if n == 0 {
			testenv.Must(t, testenv.Err(two.Reject(ctx, o.Pending.ID, ledger.Person{Name: "bob", ID: "token:bob",
				Reason: "no"})))
		}
	}
	l := paytest.Node(t, b).Lists
	for name, purpose := range map[string]standing.ListPurpose{
		"guests": standing.PurposeInvite, "barred": standing.PurposeDeny,
	} {
		testenv.Must(t, testenv.Err(l.Create(ctx, name, standing.KindPlayers, purpose)))
		testenv.Must(t, testenv.Err(l.Add(ctx, name, []string{"somebody", "nobody"})))
		testenv.Must(t, testenv.Err(l.Remove(ctx, name, []string{"nobody"})))
	}
	for _, act := range []standing.SanctionAct{standing.Ban, standing.Unban} {
		testenv.Must(t, testenv.Err(paytest.Node(t, b).Sanctions.Give(ctx, "barred", act, ledger.Person{Name: "ann",
			ID: "token:ann", Reason: "why"})))
	}
	paytest.HashAll(t, b.DB)
	_, err := chain.NewRoots(b.DB, func() int64 { return b.Clock.Now() + 48*time.Hour.Milliseconds() }).
		Take(context.Background())
	testenv.Must(t, err)
}

// TestTheServersUserMayDoAllThatTheLedgerDoes has no more than the rights of docs/rights.sql. Campaigns are drained,
// wins are held and released, players are sanctioned, and lists are imported. Orders are approved, restores begin and
// end, and roots are taken.
func TestTheServersUserMayDoAllThatTheLedgerDoes(t *testing.T) {
	t.Parallel()
	b, _ := paytest.OnRights(t)
	f := paytest.NewFakeRedis(b.Clock.Now)
	fillCampaigns(t, b, f)
	fillDrained(t, b, f)
	fillWithdrawals(t, b)
	fillHeld(t, b, f)
	fillUpkeep(t, b)
	askLists(t, b)
	askOrders(t, b)
	askLetters(t, b)
	askRebuild(t, b)
	askUpkeep(t, b)
	paytest.HashAll(t, b.DB)
	root, err := paytest.Node(t, b).Roots.Take(t.Context())
	if err != nil || root == nil {
		t.Errorf("%+v, %v", root, err)
	}
}

// TestTheLedgerOnAStubbornServer does all that the ledger does on a server with unusual settings.
func TestTheLedgerOnAStubbornServer(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	t.Parallel()
	dsn := testenv.StartMySQL(t, "--sql-mode=ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,ONLY_FULL_GROUP_BY",
		"--lower-case-table-names=1", "--innodb-rollback-on-timeout=ON", "--transaction-isolation=SERIALIZABLE",
		"--default-time-zone=+12:00", "--innodb-force-primary-key=ON", "--character-set-server=latin1",
		"--default-storage-engine=Aria", "--max-allowed-packet=4194304", "--innodb-lock-wait-timeout=1",
		"--innodb-strict-mode=OFF", "--log-bin=binlog", "--server-id=1", "--binlog-format=MIXED",
		"--binlog-row-image=MINIMAL", "--query-cache-type=ON", "--group-concat-max-len=4", "--max-join-size=1000",
		"--div-precision-increment=0").DSN
	admin := testenv.Got(sql.Open("mysql", dsn)).Must(t)
	defer func() { _ = admin.Close() }()
	for _, variable := range []string{"completion_type = CHAIN", "autocommit = OFF", "tx_read_only = ON"} {
		testenv.Must(t, testenv.Err(admin.ExecContext(t.Context(), "SET GLOBAL "+variable)))
	}
	b := paytest.NewBooks(t, func() (*sqldb.DB, error) { return sqldb.OpenMySQL(dsn) })
	f := fullLedger(t, b)
	askLists(t, b)
	askOrders(t, b)
	askLetters(t, b)
	askRebuild(t, b)
	askUpkeep(t, b)
	f.Win("c1", 0, "last")
	b.SettleAll(t, f, 0)
}
