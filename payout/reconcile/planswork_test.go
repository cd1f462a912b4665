package reconcile_test

import (
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/export"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/ledger/standing"
	"redrain/payout/paytest"
	"redrain/rain"
	"redrain/server/history"
)

// askEverything makes a ledger send all of its statements.
func askEverything(t testing.TB, b *paytest.Books) {
	t.Helper()
	f := fullLedger(t, b)
	testenv.Must(t, testenv.Err(export.New(b.DB, b.Clock.Now).Write(t.Context(), "c3", "ann", nil, io.Discard)))
	askLists(t, b)
	askOrders(t, b)
	askLetters(t, b)
	askRebuild(t, b)
	askUpkeep(t, b)
	askFigures(t, b)
	testenv.Must(t, testenv.Err(b.RemovedAt(t.Context(), "c5")))
	askForged(t, b, f)
	askProofs(t, b, f)
}

// askLists turns the pages of everything that can be listed.
func askLists(t testing.TB, b *paytest.Books) {
	t.Helper()
	ctx := t.Context()
	packet := 1
	for _, q := range []ledger.ClaimQuery{
		{Campaign: "c1"}, {Campaign: "c1", Only: ledger.ClaimFilter{User: "u1"}}, {User: "u1"},
		{User: "u1", Campaign: "c1"},
		{Campaign: "c1", Only: ledger.ClaimFilter{Packet: &packet}},
	} {
		q.Limit = 1
		_, next, err := b.ListClaims(ctx, q)
		testenv.Must(t, err)
		if q.After = next; next != "" {
			testenv.Must(t, paytest.Err3(b.ListClaims(ctx, q)))
		}
	}
	for _, q := range []ledger.WithdrawalQuery{
		{}, {User: "u1"}, {State: ledger.WithdrawalPaid}, {State: "pending"}, {State: "failed"},
		{User: "u1", State: "pending"},
	} {
		q.Limit = 1
		_, next, err := b.ListWithdrawals(ctx, q)
		testenv.Must(t, err)
		if q.After = next; next != "" {
			testenv.Must(t, paytest.Err3(b.ListWithdrawals(ctx, q)))
		}
	}
	l := paytest.Node(t, b)
	testenv.Must(t, testenv.Err(b.ClaimsOn(ctx, "c1", []int{1, 2})))
	testenv.Must(t, testenv.Err(b.ClaimStates(ctx, "u1", []string{"c1-0", "c1-3"})))
	testenv.Must(t, testenv.Err(booking.UserBalances(ctx, b.DB, []string{"u1", "u2"})))
	testenv.Must(t, paytest.Err3(b.ListSponsors(ctx, "", 1)))
	testenv.Must(t, testenv.Err(b.SponsorBalance(ctx, "acme")))
	askCampaigns(t, b)
	testenv.Must(t, paytest.Err3(l.Players.ListPlayers(ctx, "u", "", 10)))
	testenv.Must(t, paytest.Err3(l.Sanctions.Bans(ctx, "", 10)))
	testenv.Must(t, testenv.Err(l.Risk.VerdictsOf(ctx, "bot")))
	testenv.Must(t, paytest.Err3(b.ListAuditOf(ctx, "campaign:c1", "", 1)))
	testenv.Must(t, testenv.Err(b.Live(ctx)))
	testenv.Must(t, testenv.Err(b.LiveIDs(ctx)))
	testenv.Must(t, testenv.Err(b.Due(ctx, b.Clock.Now())))
	testenv.Must(t, testenv.Err(b.Withdrawal(ctx, "w-sent")))
	testenv.Must(t, testenv.Err(b.WithdrawalHistory(ctx, "w-sent")))
	testenv.Must(t, testenv.Err(b.CountPending(ctx)))
	testenv.Must(t, testenv.Err(b.PendingOrders(ctx, testenv.Got(b.Withdrawal(ctx, "w-dead")).Must(t))))
	testenv.Must(t, paytest.Err3(b.ListAudit(ctx, "", 1)))
	testenv.Must(t, paytest.Err3(b.ListDeadLetters(ctx, "", 1)))
	testenv.Must(t, paytest.Err3(b.Dead(ctx, "c1")))
	testenv.Must(t, b.RefreshMetrics(ctx))
	testenv.Must(t, testenv.Err(b.Cleared(ctx, "c3")))
	testenv.Must(t, testenv.Err(b.Emptied(ctx, "c3")))
	testenv.Must(t, testenv.Err(b.Totals(ctx, "c1")))
	testenv.Must(t, testenv.Err(l.Proofs.LastProofs(ctx)))
	testenv.Must(t, testenv.Err(l.Proofs.Pending(ctx)))
	testenv.Must(t, paytest.Err3(l.Roots.ListRoots(ctx, "", 1)))
	testenv.Must(t, testenv.Err(l.Restores.Newest(ctx)))
	testenv.Must(t, testenv.Err(l.Sanctions.Of(ctx, "barred")))
	testenv.Must(t, paytest.Err3(l.Risk.Verdict(ctx, "bot")))
	testenv.Must(t, paytest.Err3(l.Risk.CountHeld(ctx)))
	for _, q := range []ledger.HeldQuery{{}, {User: "bot"}, {Campaign: "c1"}} {
		q.State, q.After, q.Limit = ledger.HeldOpen, "1-h1-0", 1
		testenv.Must(t, paytest.Err3(l.Risk.ListHeld(ctx, q)))
	}
	askPlayerLists(t, l)
	testenv.Must(t, testenv.Err(l.Sanctions.Refresh(ctx, standing.NewSanctions())))
	testenv.Must(t, testenv.Err(l.Statements.WithdrawalsByID(ctx, []string{"w-sent", "w-dead"})))
	testenv.Must(t, testenv.Err(l.Statements.Deposits(ctx, 0, 1)))
	testenv.Must(t, l.Statements.EachPaid(ctx, 0, 0, 1, func(ledger.Withdrawal) error { return nil }))
}

// askOrders does the operations on withdrawals that fullLedger does not.
func askOrders(t testing.TB, b *paytest.Books) {
	t.Helper()
	ctx := t.Context()
	b.Rich(t, "rich", 100)
	ann, bob := ledger.Person{Name: "ann", Reason: "seen"}, ledger.Person{Name: "bob", Reason: "seen"}
	limited := b.Within(ledger.PlayerLimits{Least: 1, PerDay: 1000, PerHour: 100}).PaidTo(ledger.AlipayPayees)
	paced := b.Paced(ledger.ReceiverLimits{Rate: 1e6, InFlight: 10})
	l := paytest.Node(t, b)
	testenv.Must(t, l.Payees.Link(ctx, "rich", map[string]string{"alipay": "2088"}, 1))
	testenv.Must(t, testenv.Err(l.Payees.Of(ctx, "rich")))
	for _, id := range []string{"o-held", "o-back"} {
		testenv.Must(t, paytest.Err3(limited.Withdraw(ctx, id, "rich", 5)))
		testenv.Must(t, b.Hold(ctx, id, ann))
	}
	testenv.Must(t, b.Release(ctx, "o-held", ann))
	testenv.Must(t, paytest.Err3(b.WithdrawHeld(ctx, "o-asked", "rich", 5, "asked")))
	askApprovals(t, b, ann, bob)
	testenv.Must(t, l.Restores.Begin(ctx, "ann", "a fire"))
	testenv.Must(t, testenv.Err(l.Restores.Enter(ctx, ledger.Payment{Withdrawal: "o-entered", User: "rich", Amount: 5,
		Receiver: paytest.Bank, Reference: "r"})))
	testenv.Must(t, l.Restores.End(ctx, "ann", "it is out"))
	taken, err := paced.LeaseDue(ctx, paytest.Bank, 10, time.Minute)
	if err != nil || len(taken) == 0 {
		t.Fatal(taken, err)
	}
	testenv.Must(t, paced.RecordRetry(ctx, taken[0], 0, "no answer"))
	testenv.Must(t, b.Recheck(ctx, taken[0].ID, paytest.Bank))
	b.Clock.Add(time.Hour.Milliseconds())
	if strays, err := b.BuryOrphans(ctx, "another bank", 1); err != nil || len(strays) == 0 { // askLetters retries them
		t.Fatal(strays, err)
	}
	for range 2 {
		testenv.Must(t, testenv.Err(b.Deposit(ctx, "acme", "twice", 1)))
	}
}

// askApprovals has orders asked for, listed, confirmed and rejected.
func askApprovals(t testing.TB, b *paytest.Books, ann, bob ledger.Person) {
	t.Helper()
	ctx := t.Context()
	none := rain.Money(0)
	two := b.Approvals.Above(&none)
	for _, receiver := range []string{"the bank before", paytest.Bank} {
		p := testenv.Got(two.StartProvider(ctx, receiver, true)).Must(t)
		if p.Pending != nil {
			testenv.Must(t, paytest.Err3(two.Confirm(ctx, p.Pending.ID, bob)))
		}
	}
	edits := []ledger.Deed{
		{Act: ledger.ActBack, Target: "o-back"}, {Act: ledger.ActPaid, Target: "w-dead", Reference: "r"},
		{Act: ledger.ActDeposit, Target: "acme", Amount: 5, Reference: "o"},
	}
	for n, d := range edits {
		o := testenv.Got(two.Do(ctx, d, ann)).Must(t)
		testenv.Must(t, testenv.Err(two.Approval(ctx, o.Pending.ID)))
		if n == len(edits)-1 {
			testenv.Must(t, testenv.Err(two.Reject(ctx, o.Pending.ID, bob)))
		} else {
			testenv.Must(t, paytest.Err3(two.Confirm(ctx, o.Pending.ID, bob)))
		}
	}
	for _, state := range []ledger.ApprovalState{"", ledger.ApprovalPending, ledger.ApprovalExpired,
		ledger.ApprovalConfirmed} {
		testenv.Must(t, paytest.Err3(two.ListApprovals(ctx, state, "9000000000000-x", 1)))
	}
	for _, campaign := range []string{"", "c1"} {
		testenv.Must(t, testenv.Err(two.RetryAll(ctx, campaign, func([]posting.Settlement) {})))
	}
}

// askLetters writes, retries and dismisses dead letters, and refuses entries.
func askLetters(t testing.TB, b *paytest.Books) {
	t.Helper()
	ctx := t.Context()
	b.OpenCampaign(t, "l1", rain.Spec{Budget: 100, Packets: 10})
	b.MustPost(t, paytest.Entry("l1", 1, paytest.Win("u", 0, 10), paytest.Win("v", 9, 10)))
	b.MustPost(t, paytest.Entry("l1", 2, paytest.Win("w", 0, 10), paytest.Win("w", 9, 10))) // dead letters
	waits := paytest.Entry("l1", 3, paytest.Win("x", 2, 10))
	testenv.Must(t, testenv.Err(b.Attempt(ctx, waits, errors.New("not now"), 10)))
	testenv.Must(t, testenv.Err(b.Failing(ctx, []rain.EntryRef{waits.Ref})))
	testenv.Must(t, b.ForgetAttempts(ctx, []rain.EntryRef{waits.Ref}))
	b.Clock.Add(40 * 24 * time.Hour.Milliseconds())
	testenv.Must(t, testenv.Err(b.Attempt(ctx, waits, errors.New("not now"), 10)))
	testenv.Must(t, testenv.Err(b.BuryMessage(ctx, posting.Message{Name: "1", Payload: []byte("x"),
		Reason: "it is no entry"})))
	testenv.Must(t, testenv.Err(b.RetryAll(ctx, "l1", func([]posting.Settlement) {})))
	testenv.Must(t, testenv.Err(b.RetryAll(ctx, "", func([]posting.Settlement) {})))
	testenv.Must(t, testenv.Err(b.Dismiss(ctx, "l1-0", 0, "nobody's")))
}

// askRebuild rebuilds a shard from the ledger, abandons a campaign and reclaims one.
func askRebuild(t testing.TB, b *paytest.Books) {
	t.Helper()
	ctx := t.Context()
	l := paytest.Node(t, b)
	c := testenv.Got(b.Campaign(ctx, "c1")).Must(t)
	attempt := testenv.Got(b.BeginRebuild(ctx, "c1", 0)).Must(t)
	testenv.Must(t, testenv.Err(b.Fence(ctx, "c1", 0, attempt)))
	testenv.Must(t, testenv.Err(b.Holding(ctx, c, 0)))
	testenv.Must(t, b.EachAssigned(ctx, c, paytest.Packets(0, c.Packets-1),
		func(posting.Assigned) error { return nil }))
	testenv.Must(t, testenv.Err(b.Reclaimed(ctx, c, 0)))
	testenv.Must(t, b.EachWin(ctx, c, 0, func(posting.Assigned) error { return nil }))
	testenv.Must(t, testenv.Err(b.Top(ctx, c, 0, 10)))
	testenv.Must(t, testenv.Err(b.Moves.Open(ctx, "c1")))
	testenv.Must(t, testenv.Err(b.Moves.Known(ctx, c)))
	testenv.Must(t, l.Moves.Done(ctx, "underway", 0))
	testenv.Must(t, b.CreateCampaign(ctx, b.LoadingCampaign(t, "given-up")))
	testenv.Must(t, testenv.Err(b.Abandon(ctx, "given-up")))
	b.CloseCampaign(t, "c1")
	b.MustPost(t, paytest.ReclaimEntry(0, 1<<40, paytest.Packets(4, 5)...))
}

func askUpkeep(t testing.TB, b *paytest.Books) {
	t.Helper()
	ctx := t.Context()
	testenv.Must(t, testenv.Err(b.Lease(ctx, "a job", "another node", time.Hour)))
	testenv.Must(t, b.ReleaseLease(ctx, "a job", "another node"))
	job := testenv.Got(b.Lease(ctx, "fenced", "me", time.Hour)).Must(t)
	testenv.Must(t, testenv.Err(b.DB.Exec(b.UnderTerm(ctx, "fenced", job.Term),
		"UPDATE lease SET holder = holder WHERE name = 'fenced'")))
	testenv.Must(t, b.Finish(ctx, "key", ledger.Answer{Status: 201, Body: []byte("{}")}))
	testenv.Must(t, testenv.Err(b.Begin(ctx, "key", []byte("body"))))
	b.Statement(t, "UPDATE idempotency SET expires_at = 1")
	testenv.Must(t, testenv.Err(b.Begin(ctx, "key", []byte("body"))))
	testenv.Must(t, b.Forget(ctx, "key"))
	testenv.Must(t, testenv.Err(b.Seals.Rotate(ctx)))
}

// askPlayerLists asks all there is to ask about lists of players.
func askPlayerLists(t testing.TB, l *ledger.Ledger) {
	t.Helper()
	ctx := t.Context()
	testenv.Must(t, paytest.Err3(l.Lists.ListLists(ctx, "a", 1)))
	testenv.Must(t, testenv.Err(l.Lists.Heads(ctx)))
	testenv.Must(t, paytest.Err3(l.Lists.Members(ctx, "guests", "u", 1)))
	testenv.Must(t, testenv.Err(l.Lists.Among(ctx, "guests", []string{"u1", "u2"})))
	testenv.Must(t, testenv.Err(l.Lists.Import(ctx, "guests", true, slices.Values([][]string{{"u1", "u3"}}))))
	testenv.Must(t, testenv.Err(l.Lists.Remove(ctx, "guests", []string{"u3"})))
	testenv.Must(t, l.Lists.Delete(ctx, "guests"))
}

// askCampaigns lists campaigns in each order and by each condition, and reads the second page if there is one.
func askCampaigns(t testing.TB, b *paytest.Books) {
	t.Helper()
	ctx := t.Context()
	now := b.Clock.Now()
	for _, q := range []ledger.CampaignQuery{
		{}, {Upwards: true}, {Order: ledger.ByExpiry}, {Order: ledger.ByExpiry, Upwards: true},
		{Order: ledger.ByName}, {Order: ledger.ByName, Upwards: true}, {Order: ledger.ByBudget},
		{Order: ledger.ByBudget, Upwards: true}, {Sponsor: "acme"}, {Words: []string{"a", "c"}},
		{State: rain.StateRaining, Now: now}, {State: rain.StateReady, Now: now}, {State: string(rain.Closed)},
		{State: string(rain.Closed), Order: ledger.ByName},
		{State: string(rain.Paused)}, {State: string(rain.Paused), Order: ledger.ByName, Sponsor: "acme"},
	} {
		q.Limit = 1
		_, next, err := b.ListCampaigns(ctx, q)
		testenv.Must(t, err)
		if q.State == "" && next == "" {
			t.Fatal("no second page")
		}
		if q.After = next; next != "" {
			testenv.Must(t, paytest.Err3(b.ListCampaigns(ctx, q)))
		}
	}
}

// askFigures has a campaign's figures written, thinned, read and forgotten.
func askFigures(t testing.TB, b *paytest.Books) {
	t.Helper()
	ctx := t.Context()
	table := history.NewTable(b.DB)
	testenv.Must(t, table.Add(ctx, map[string]history.Row{"c1": {At: 1, SpanMS: 1_000}}))
	testenv.Must(t, testenv.Err(table.Thin(ctx, 1_000, 60_000, 120_000)))
	testenv.Must(t, testenv.Err(table.Read(ctx, "c1", 0, 1_000_000, 0)))
	testenv.Must(t, testenv.Err(table.Forget(ctx, 120_000)))
}
