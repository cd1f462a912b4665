package reconcile_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/payout/ledger"
	"redrain/payout/ledger/history"
	"redrain/payout/ledger/playerlist"
	"redrain/payout/ledger/sanction"
	"redrain/payout/ledger/verdict"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestNothingIsLaundered: who changes a row by hand just before the ledger goes on with it gains nothing. No money
// moves by it, and what the ledger writes afterwards does not make the row whole again: the proof names it
// all the same.
func TestNothingIsLaundered(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *paytest.Books{"sqlite": paytest.OnSQLite,
		"mysql": paytest.OnMySQL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			l := &columnLedger{t: t, b: b, f: fullLedger(t, b)}
			launder(t, b)
			found := l.prove()
			for _, named := range []string{"withdrawal w-held", "withdrawal w-sent", "withdrawal w-requested",
				"order a", "campaign c4", "player barred", "verdicts about bot", "list barred: its members",
				"list guests: it, or a row", "dead letter ", "held win h1-1"} {
				if !names(found, named) {
					t.Errorf("%q is not named in %q", named, strings.Join(found, "\n"))
				}
			}
		})
	}
}

// launder changes rows by hand, each time before the ledger changes the same.
func launder(t *testing.T, b *paytest.Books) {
	t.Helper()
	ctx := t.Context()
	by := ledger.Person{Name: "bob", ID: "token:bob", Reason: "why"}
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, history.ErrTampered) {
			t.Errorf("%s: %v", what, err)
		}
	}
	launderWithdrawals(t, b, refused)

	two := b.Approvals.Above(new(rain.Money))
	id, err := sqldb.Column[string](ctx, b.DB, "SELECT id FROM approval WHERE state = 'pending'")
	paytest.Must(t, err)
	change(t, b, "UPDATE approval SET asked_by = 'carl', asked_id = 'token:carl' WHERE state = 'pending'")
	_, _, err = two.Confirm(ctx, id[0], ledger.Person{Name: "ann", ID: "token:ann"}) // who has asked for it
	refused("an order of one person", err)

	change(t, b, "UPDATE held SET state = 'held', confirm_id = 0, decided_by = '', decision = '', decided_at = 0 "+
		"WHERE claim = 'h1-1'")
	_, err = paytest.Node(t, b).Risk.Release(ctx, []string{"h1-1"}, by)
	refused("a win that was given back", err)

	letter, err := sqldb.Column[string](ctx, b.DB, "SELECT claim FROM dead_letter WHERE kind = 'pay'")
	paytest.Must(t, err)
	change(t, b, "UPDATE dead_letter SET user_id = 'thief' WHERE kind = 'pay'")
	if _, err := b.Retry(ctx, letter[0]); !errors.Is(err, ledger.ErrStillDead) {
		t.Errorf("a letter that was changed: %v", err)
	}
	if _, err := b.Dismiss(ctx, letter[0], 0, "nobody's"); !errors.Is(err, ledger.ErrNotDismissed) {
		t.Errorf("a letter that was changed is dismissed: %v", err)
	}

	change(t, b, "UPDATE campaign SET expires_at = expires_at + 1 WHERE id = 'c4'; "+
		"DELETE FROM sanction WHERE number = 1; UPDATE verdict SET verdict = 'allow' WHERE number = 1; "+
		"DELETE FROM list_member WHERE list_name = 'barred' AND who = 'somebody'; "+
		"UPDATE player_list SET purpose = 'deny' WHERE name = 'guests'")
	_, err = b.Update(ctx, "c4", func(c *rain.Campaign) error { return c.Close(b.Clock.Now()) })
	refused("a campaign that was changed", err)
	node := paytest.Node(t, b)
	_, err = node.Sanctions.Give(ctx, "barred", sanction.Disconnect, by)
	paytest.Must(t, err)
	paytest.Must(t, node.Risk.Trust(ctx, []string{"bot", "other"}, by))
	_, err = node.Risk.Give(ctx, "risk-officer", verdict.Verdict{User: "bot", Act: verdict.Allow, Reasons: "[]"})
	paytest.Must(t, err)
	for _, name := range []string{"barred", "guests"} {
		_, err = node.Lists.Add(ctx, name, []string{"more"})
		paytest.Must(t, err)
	}
}

func launderWithdrawals(t *testing.T, b *paytest.Books, refused func(string, error)) {
	t.Helper()
	ctx := t.Context()
	paytest.Must(t, b.Hold(ctx, "w-requested", ledger.Person{Name: "ann", Reason: "looked at"}))
	change(t, b, "UPDATE withdrawal SET state = 'requested' WHERE id = 'w-requested'") // released by hand
	// Sent to one, and by hand as if it were to be sent to another.
	change(t, b, "UPDATE withdrawal SET state = 'requested', receiver = '', sent_at = 0 WHERE id = 'w-sent'")
	b.Clock.Add(time.Hour.Milliseconds())
	taken, err := b.LeaseDue(ctx, "another bank", 10, time.Minute)
	if err != nil || len(taken) != 0 {
		t.Errorf("taken: %+v, %v", taken, err)
	}
	b.MustWithdraw(t, "w-held", "u1", 3)
	taken, err = b.LeaseDue(ctx, paytest.Bank, 10, time.Minute)
	if err != nil || len(taken) != 2 { // w-action too
		t.Fatalf("taken: %+v, %v", taken, err)
	}
	for _, w := range taken {
		if w.ID != "w-held" {
			continue
		}
		change(t, b, "UPDATE withdrawal SET receiver = 'another bank' WHERE id = 'w-held'") // while it is asked
		refused("an answer", b.RecordWaiting(ctx, w, ledger.Waiting{State: ledger.WithdrawalSent}))
		refused("a payment", b.RecordPaid(ctx, w, "x"))
		refused("an order", b.Hold(ctx, w.ID, ledger.Person{Name: "ann"}))
	}
}

// TestHistoriesOfLongIds: what belongs to a player with the longest id has a history as everything else.
func TestHistoriesOfLongIds(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		ctx := t.Context()
		node := paytest.Node(t, b)
		user := strings.Repeat("玩", rain.MaxUserLen/3)
		_, err := node.Sanctions.Give(ctx, user, sanction.Disconnect, ledger.Person{Name: "ann"})
		paytest.Must(t, err)
		_, err = node.Risk.Give(ctx, ledger.ByRules, verdict.Verdict{User: user, Act: verdict.Hold, Reasons: "[]"})
		paytest.Must(t, err)
		_, err = node.Lists.Create(ctx, strings.Repeat("l", 64), playerlist.Players, playerlist.Deny)
		paytest.Must(t, err)
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 1000, Packets: 1000})
		b.HoldWins()
		if posted := b.MustPost(t, paytest.Entry("c1", 1, paytest.Win(user, 999, 1))); posted.Held != 1 {
			t.Errorf("%+v", posted)
		}
		books, err := b.Proof.ReconcileAll(ctx, paytest.NewFakeRedis(b.Clock.Now), nil)
		if err != nil || len(books.Findings) > 0 {
			t.Errorf("%q, %v", books.Findings, err)
		}
	})
}
