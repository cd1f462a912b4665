package reconcile_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/export"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/payout/ledger/standing"
	"redrain/payout/paytest"
	"redrain/rain"
)

// askEverything makes a ledger send every statement that it has.
func askEverything(t testing.TB, b *paytest.Books) {
	t.Helper()
	f := fullLedger(t, b)
	paytest.Must(t, testenv.Err(export.New(b.DB, b.Clock.Now).Write(t.Context(), "c3", "ann", nil, io.Discard)))
	askLists(t, b)
	askOrders(t, b)
	askLetters(t, b)
	askRebuild(t, b)
	askUpkeep(t, b)
	askFigures(t, b)
	paytest.Must(t, testenv.Err(b.DroppedAt(t.Context(), "c5")))
	askForged(t, b, f)
	askProofs(t, b, f)
}

// ask fails the test with the first error of a row of calls.
func ask(t testing.TB, calls ...func() error) {
	t.Helper()
	for n, call := range calls {
		if err := call(); err != nil {
			t.Fatalf("call %d: %v", n, err)
		}
	}
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
		paytest.Must(t, err)
		if q.After = next; next != "" {
			paytest.Must(t, paytest.Err3(b.ListClaims(ctx, q)))
		}
	}
	for _, q := range []ledger.WithdrawalQuery{
		{}, {User: "u1"}, {State: ledger.WithdrawalPaid}, {State: "pending"}, {State: "failed"},
		{User: "u1", State: "pending"},
	} {
		q.Limit = 1
		_, next, err := b.ListWithdrawals(ctx, q)
		paytest.Must(t, err)
		if q.After = next; next != "" {
			paytest.Must(t, paytest.Err3(b.ListWithdrawals(ctx, q)))
		}
	}
	l := paytest.Node(t, b)
	ask(t,
		func() error { _, err := b.ClaimsOn(ctx, "c1", []int{1, 2}); return err },
		func() error { _, err := b.ClaimStates(ctx, "u1", []string{"c1-0", "c1-3"}); return err },
		func() error { _, err := b.UserBalances(ctx, []string{"u1", "u2"}); return err },
		func() error { _, _, err := b.ListSponsors(ctx, "", 1); return err },
		func() error { _, err := b.SponsorBalance(ctx, "acme"); return err },
		func() error { return askCampaigns(ctx, b) },
		func() error { _, _, err := l.Players.ListPlayers(ctx, "u", "", 10); return err },
		func() error { _, _, err := l.Sanctions.Bans(ctx, "", 10); return err },
		func() error { _, err := l.Risk.VerdictsOf(ctx, "bot"); return err },
		func() error { _, _, err := b.ListAuditOf(ctx, "campaign:c1", "", 1); return err },
		func() error { _, err := b.Live(ctx); return err },
		func() error { _, err := b.LiveIDs(ctx); return err },
		func() error { _, _, err := b.Due(ctx, b.Clock.Now(), "", 1); return err },
		func() error { _, err := b.Withdrawal(ctx, "w-sent"); return err },
		func() error { _, err := b.WithdrawalHistory(ctx, "w-sent"); return err },
		func() error { _, err := b.CountPending(ctx); return err },
		func() error {
			w := paytest.Got(b.Withdrawal(ctx, "w-dead")).Must(t)
			_, err := b.PendingOrders(ctx, w)
			return err
		},
		func() error { _, _, err := b.ListAudit(ctx, "", 1); return err },
		func() error { _, _, err := b.ListDeadLetters(ctx, "", 1); return err },
		func() error { _, _, err := b.Dead(ctx, "c1"); return err },
		func() error { return b.RefreshMetrics(ctx) },
		func() error { _, err := b.Cleared(ctx, "c3"); return err },
		func() error { _, err := b.Emptied(ctx, "c3"); return err },
		func() error { _, _, err := b.Paid(ctx, "c1"); return err },
		func() error { _, _, err := b.GivenBack(ctx, "c1"); return err },
		func() error { _, err := l.Proofs.LastProofs(ctx); return err },
		func() error { _, err := l.Proofs.Pending(ctx); return err },
		func() error { _, _, err := l.Roots.ListRoots(ctx, "", 1); return err },
		func() error { _, err := l.Restores.Newest(ctx); return err },
		func() error { _, err := l.Sanctions.Of(ctx, "barred"); return err },
		func() error { _, _, err := l.Risk.Verdict(ctx, "bot"); return err },
		func() error { _, _, err := l.Risk.CountHeld(ctx); return err },
		func() error {
			for _, q := range []ledger.HeldQuery{{}, {User: "bot"}, {Campaign: "c1"}} {
				q.State, q.After, q.Limit = ledger.HeldOpen, "1-h1-0", 1
				if _, _, err := l.Risk.ListHeld(ctx, q); err != nil {
					return err
				}
			}
			return nil
		},
		func() error { return askPlayerLists(t, l) },
		func() error { _, err := l.Sanctions.Refresh(ctx, standing.NewSanctions()); return err },
		func() error { _, err := l.Statements.WithdrawalsByID(ctx, []string{"w-sent", "w-dead"}); return err },
		func() error { _, err := l.Statements.Deposits(ctx, 0, 1); return err },
		func() error {
			return l.Statements.EachPaid(ctx, 0, 0, 1, func(ledger.Withdrawal) error { return nil })
		},
	)
}

// askOrders does with withdrawals what fullLedger has not.
func askOrders(t testing.TB, b *paytest.Books) {
	t.Helper()
	ctx := t.Context()
	b.Rich(t, "rich", 100)
	ann, bob := ledger.Person{Name: "ann", Reason: "seen"}, ledger.Person{Name: "bob", Reason: "seen"}
	limited := b.Within(ledger.PlayerLimits{Least: 1, PerDay: 1000, PerHour: 100})
	paced := b.Paced(ledger.ReceiverLimits{Rate: 1e6, InFlight: 10})
	l := paytest.Node(t, b)
	for _, id := range []string{"o-held", "o-back"} {
		paytest.Must(t, paytest.Err3(limited.Withdraw(ctx, id, "rich", 5)))
		paytest.Must(t, b.Hold(ctx, id, ann))
	}
	ask(t,
		func() error { return b.Release(ctx, "o-held", ann) },
		func() error { _, _, err := b.WithdrawHeld(ctx, "o-asked", "rich", 5, "asked"); return err },
		func() error { return askApprovals(ctx, b, ann, bob) },
		func() error { return l.Restores.Begin(ctx, "ann", "a fire") },
		func() error {
			_, err := l.Restores.Enter(ctx, ledger.Payment{Withdrawal: "o-entered", User: "rich", Amount: 5,
				Receiver: paytest.Bank, Reference: "r"})
			return err
		},
		func() error { return l.Restores.End(ctx, "ann", "it is out") },
	)
	taken, err := paced.LeaseDue(ctx, paytest.Bank, 10, time.Minute)
	if err != nil || len(taken) == 0 {
		t.Fatal(taken, err)
	}
	paytest.Must(t, paced.RecordRetry(ctx, taken[0], 0, "no answer"))
	b.Clock.Add(time.Hour.Milliseconds())
	if strays, err := b.BuryStrays(ctx, "another bank", 1); err != nil || len(strays) == 0 { // askLetters retries them
		t.Fatal(strays, err)
	}
	for range 2 {
		paytest.Must(t, testenv.Err(b.Deposit(ctx, "acme", "twice", 1)))
	}
}

// askApprovals has orders asked for, listed, confirmed and rejected.
func askApprovals(ctx context.Context, b *paytest.Books, ann, bob ledger.Person) error {
	none := rain.Money(0)
	two := b.Approvals.Above(&none)
	for _, receiver := range []string{"the bank before", paytest.Bank} {
		p, err := two.StartProvider(ctx, receiver, true)
		if err != nil {
			return err
		}
		if p.Pending != nil {
			if _, _, err := two.Confirm(ctx, p.Pending.ID, bob); err != nil {
				return err
			}
		}
	}
	deeds := []ledger.Deed{
		{Act: ledger.ActBack, Target: "o-back"}, {Act: ledger.ActPaid, Target: "w-dead", Reference: "r"},
		{Act: ledger.ActDeposit, Target: "acme", Amount: 5, Reference: "o"},
	}
	for n, d := range deeds {
		o, err := two.Do(ctx, d, ann)
		if err != nil {
			return err
		}
		if _, err := two.Approval(ctx, o.Pending.ID); err != nil {
			return err
		}
		if n == len(deeds)-1 {
			_, err = two.Reject(ctx, o.Pending.ID, bob)
		} else {
			_, _, err = two.Confirm(ctx, o.Pending.ID, bob)
		}
		if err != nil {
			return err
		}
	}
	for _, state := range []ledger.ApprovalState{"", ledger.ApprovalPending, ledger.ApprovalExpired,
		ledger.ApprovalConfirmed} {
		if _, _, err := two.ListApprovals(ctx, state, "9000000000000-x", 1); err != nil {
			return err
		}
	}
	for _, campaign := range []string{"", "c1"} {
		if _, err := two.RetryAll(ctx, campaign, func([]posting.Settlement) {}); err != nil {
			return err
		}
	}
	return nil
}

// askLetters has letters written, retried, dismissed, and entries refused.
func askLetters(t testing.TB, b *paytest.Books) {
	t.Helper()
	ctx := t.Context()
	b.OpenCampaign(t, "l1", rain.Spec{Budget: 100, Packets: 10})
	b.MustPost(t, paytest.Entry("l1", 1, paytest.Win("u", 0, 10), paytest.Win("v", 9, 10)))
	b.MustPost(t, paytest.Entry("l1", 2, paytest.Win("w", 0, 10), paytest.Win("w", 9, 10))) // theirs already: letters
	waits := paytest.Entry("l1", 3, paytest.Win("x", 2, 10))
	ask(t,
		func() error { _, err := b.Attempt(ctx, waits, errors.New("not now"), 10); return err },
		func() error { _, err := b.Failing(ctx, []rain.EntryRef{waits.Ref}); return err },
		func() error { return b.ForgetAttempts(ctx, []rain.EntryRef{waits.Ref}) },
		func() error { b.Clock.Add(40 * 24 * time.Hour.Milliseconds()); return nil },
		func() error { _, err := b.Attempt(ctx, waits, errors.New("not now"), 10); return err },
		func() error {
			_, err := b.BuryMessage(ctx, posting.Message{Name: "1", Payload: []byte("x"), Reason: "it is no entry"})
			return err
		},
		func() error { _, err := b.RetryAll(ctx, "l1", func([]posting.Settlement) {}); return err },
		func() error { _, err := b.RetryAll(ctx, "", func([]posting.Settlement) {}); return err },
		func() error { _, err := b.Dismiss(ctx, "l1-0", 0, "nobody's"); return err },
	)
}

// askRebuild has a shard rebuilt from the ledger, and a campaign given up and one reclaimed.
func askRebuild(t testing.TB, b *paytest.Books) {
	t.Helper()
	ctx := t.Context()
	l := paytest.Node(t, b)
	c := paytest.Got(b.Campaign(ctx, "c1")).Must(t)
	attempt := paytest.Got(b.BeginRebuild(ctx, "c1", 0)).Must(t)
	ask(t,
		func() error { _, err := b.Fence(ctx, "c1", 0, attempt); return err },
		func() error { _, err := b.Holding(ctx, c, 0); return err },
		func() error {
			return b.EachAssigned(ctx, c, paytest.Packets(0, c.Packets-1), func(posting.Assigned) error { return nil })
		},
		func() error { _, err := b.Reclaimed(ctx, c, 0); return err },
		func() error { return b.EachWin(ctx, c, 0, func(posting.Assigned) error { return nil }) },
		func() error { _, err := b.Top(ctx, c, 0, 10); return err },
		func() error { _, err := b.Moves.Open(ctx, "c1"); return err },
		func() error { _, err := b.Moves.Known(ctx, c); return err },
		func() error { return l.Moves.Done(ctx, "underway", 0) },
		func() error { return b.CreateCampaign(ctx, b.LoadingCampaign(t, "given-up")) },
		func() error { _, err := b.Abandon(ctx, "given-up"); return err },
		func() error { b.CloseCampaign(t, "c1"); return nil },
	)
	b.MustPost(t, paytest.ReclaimEntry(0, 1<<40, paytest.Packets(4, 5)...))
}

func askUpkeep(t testing.TB, b *paytest.Books) {
	t.Helper()
	ctx := t.Context()
	ask(t,
		func() error { _, err := b.Lease(ctx, "a job", "another node", time.Hour); return err },
		func() error { return b.ReleaseLease(ctx, "a job", "another node") },
		func() error {
			job := paytest.Got(b.Lease(ctx, "fenced", "me", time.Hour)).Must(t)
			under := b.Fenced(ctx, "fenced", job.Term)
			_, err := b.DB.Exec(under, "UPDATE lease SET holder = holder WHERE name = 'fenced'")
			return err
		},
		func() error { return b.Finish(ctx, "key", ledger.Answer{Status: 201, Body: []byte("{}")}) },
		func() error { _, err := b.Begin(ctx, "key", []byte("body")); return err },
		func() error { b.Statement(t, "UPDATE idempotency SET expires_at = 1"); return nil },
		func() error { _, err := b.Begin(ctx, "key", []byte("body")); return err },
		func() error { return b.Forget(ctx, "key") },
		func() error { _, err := b.Seals.Rotate(ctx); return err },
	)
}
