package ledger_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestWhatNeedsTwoPeople: without a limit only the end of a withdrawal; with one, every operation on more than it.
func TestWhatNeedsTwoPeople(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit  *rain.Money
		amount rain.Money
		waits  map[ledger.Act]bool
	}{
		"no limit": {nil, 1000, map[ledger.Act]bool{ledger.ActPaid: true, ledger.ActBack: true}},
		"up to it": {new(rain.Money(1000)), 1000, nil},
		"above it": {new(rain.Money(999)), 1000, map[ledger.Act]bool{ledger.ActPaid: true, ledger.ActBack: true,
			ledger.ActDeposit: true, ledger.ActRetry: true}},
		"everything": {new(rain.Money(0)), 1, map[ledger.Act]bool{ledger.ActPaid: true, ledger.ActBack: true,
			ledger.ActDeposit: true, ledger.ActRetry: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := paytest.OnSQLite(t)
			b.Rich(t, "u1", 5000)
			for n, act := range []ledger.Act{ledger.ActPaid, ledger.ActBack, ledger.ActRetry, ledger.ActDeposit} {
				d := ledger.Deed{Act: act, Target: string(rune('a' + n)), Reference: "r"}
				if d.Amount = c.amount; act != ledger.ActDeposit {
					b.MustWithdraw(t, d.Target, "u1", c.amount)
					testenv.Must(t, b.RecordDead(t.Context(), b.LeaseOne(t), "silence"))
				}
				o, err := b.Approvals.Above(c.limit).Do(t.Context(), d, ann)
				if err != nil || (o.Pending != nil) != c.waits[act] {
					t.Errorf("%s of %d: %+v, %v", act, c.amount, o, err)
				}
				o, err = b.Approvals.Above(c.limit).Do(t.Context(), d, ledger.Person{Name: "operator", Nameless: true})
				if c.waits[act] && !errors.Is(err, ledger.ErrNeedsName) {
					t.Errorf("%s with the shared token: %+v, %v", act, o, err)
				}
			}
			b.CheckBooks(t)
		})
	}
}

// TestADepositByTwo: no money moves until another named person has confirmed it, and then it moves once. The audit
// names both.
func TestADepositByTwo(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := paytest.As(t, "deposit")
		two := b.Approvals.Above(new(rain.Money(100)))
		d := ledger.Deed{Act: ledger.ActDeposit, Target: "acme", Amount: 500, Reference: "r1"}
		o := testenv.Got(two.Do(ctx, d, ann)).Must(t)
		testenv.WantErr(t, testenv.Err(b.SponsorBalance(ctx, "acme")), ledger.ErrUnknownSponsor, "it has moved")
		id := o.Pending.ID
		for who, by := range map[string]ledger.Person{
			"herself": ann, "whoever has the shared token": {Name: "operator", Nameless: true},
			"herself by another name": {Name: "anna", ID: ann.ID},
		} {
			want := ledger.ErrSamePerson
			if by.Nameless {
				want = ledger.ErrNeedsName
			}
			testenv.WantErr(t, paytest.Err3(two.Confirm(ctx, id, by)), want, who)
		}
		testenv.WantErr(t, paytest.Err3(two.Confirm(ctx, "a0", bob)), ledger.ErrUnknownApproval)
		paytest.WantOfMany(t, 4, 1, ledger.ErrApprovalOver, func(int) error {
			_, o, err := two.Confirm(ctx, id, bob)
			if err == nil {
				testenv.Equal(t, o.Balance, 500, "the balance")
			}
			return err
		})
		b.WantBalance(t, booking.SponsorAccount("acme"), 500)
		if o, err := two.Do(ctx, d, ann); err != nil || o.Pending != nil || o.Balance != 500 {
			t.Errorf("the same deposit again: %+v, %v", o, err)
		}
		d.Amount = 600
		testenv.WantErr(t, testenv.Err(two.Do(ctx, d, ann)), ledger.ErrReferenceReused,
			"its reference for another amount")
		records := testenv.Got3(b.ListAudit(ctx, "", 10)).Must(t)
		if len(records) != 2 || records[0].Action != "deposit" || records[1].Action != "deposit.ask" ||
			!strings.Contains(string(records[0].Detail), `"asked_by":"ann"`) ||
			!strings.Contains(string(records[0].Detail), `"approval":"`+id) ||
			records[1].Target != "approval:"+id {
			t.Errorf("%+v", records)
		}
	})
}

// TestRejectedAndOld: neither can be confirmed. The requester may reject the order, too.
func TestRejectedAndOld(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := paytest.As(t, "deposit")
		two := b.Approvals.Above(new(rain.Money(0)))
		ask := func(reference string) string {
			o := testenv.Got(two.Do(ctx, ledger.Deed{Act: ledger.ActDeposit, Target: "acme", Amount: 5,
				Reference: reference}, ann)).Must(t)
			return o.Pending.ID
		}
		own, other := ask("r1"), ask("r2")
		for id, by := range map[string]ledger.Person{own: ann,
			other: {Name: "operator", Nameless: true, Reason: "no"}} {
			a, err := two.Reject(ctx, id, by)
			if err != nil || a.State != ledger.ApprovalRejected || a.Decided.Name != by.Name {
				t.Errorf("%+v, %v", a, err)
			}
			testenv.WantErr(t, paytest.Err3(two.Confirm(ctx, id, bob)), ledger.ErrApprovalOver,
				"confirmed after it was rejected")
		}
		old := ask("r3")
		want := func(state ledger.ApprovalState, ids ...string) {
			t.Helper()
			got := paytest.Map(slices.Concat(paytest.Pages(t, func(cursor string) ([]ledger.Approval, string, error) {
				return two.ListApprovals(ctx, state, cursor, 1)
			})...), func(a ledger.Approval) string { return a.ID })
			if len(got) != len(ids) || len(ids) == 1 && got[0] != ids[0] {
				t.Errorf("%s: %q, want %q", state, got, ids)
			}
		}
		want(ledger.ApprovalPending, old)
		b.Clock.Add(24 * 3_600_000)
		want(ledger.ApprovalPending)
		want(ledger.ApprovalExpired, old)
		want(ledger.ApprovalRejected, own, other)
		want("", own, other, old)
		testenv.WantErr(t, paytest.Err3(two.Confirm(ctx, old, bob)), ledger.ErrApprovalOver, "confirmed after a day")
		testenv.Equal(t, testenv.Got(two.Approval(ctx, old)).Must(t).State, ledger.ApprovalExpired, "its state")
		if again := ask("r3"); again == old {
			t.Error("an order that is too old is given again")
		}
	})
}

// TestLettersByTwo: an order covers only the dead letters at its request, all of them or none. A failed operation
// leaves no writes.
func TestLettersByTwo(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		ctx := paytest.As(t, "payout.dismiss")
		two := b.Approvals.Above(new(rain.Money(10)))
		b.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 5})
		b.MustPost(t, paytest.Entry("c1", 1, paytest.Win("u", 0, 20)))
		forged := func(seq int) posting.DeadLetter { // for two players with a claim to one packet
			e := paytest.Entry("c1", seq, paytest.Win("v", 0, 20))
			testenv.Must(t, testenv.Err(b.Attempt(ctx, e, errors.New("no"), 1)))
			letters, _, err := b.ListDeadLetters(ctx, "", 10)
			if err != nil || len(letters) == 0 {
				t.Fatalf("%+v, %v", letters, err)
			}
			return letters[len(letters)-1]
		}
		first := forged(2)
		act := func(what ledger.Act) string {
			t.Helper()
			o, err := two.Do(ctx, ledger.Deed{Act: what, Target: first.Claim}, ann)
			if err != nil || o.Pending == nil || o.Pending.Amount < 20 {
				t.Fatalf("%+v, %v", o, err)
			}
			return o.Pending.ID
		}
		retry, dismiss := act(ledger.ActRetry), act(ledger.ActDismiss)
		testenv.WantErr(t, paytest.Err3(two.Confirm(ctx, retry, bob)), ledger.ErrStillDead,
			"a dead letter of a packet that is paid to another")
		_, o, err := two.Confirm(ctx, dismiss, bob)
		if errors.Is(err, ledger.ErrNotDismissed) != (len(o.Dismissed.Kept) > 0) ||
			err != nil && !errors.Is(err, ledger.ErrNotDismissed) {
			t.Errorf("%+v, %v", o, err)
		}
		if a, err2 := two.Approval(ctx, dismiss); err2 != nil || (a.State == ledger.ApprovalConfirmed) != (err == nil) {
			t.Errorf("%v, and the order is %+v, %v", err, a, err2)
		}
		r, err := two.RetryAll(ctx, "", func([]posting.Settlement) {})
		if n := b.CountDead(t); err != nil || r.NeedTwo != n || r.Retried != 0 {
			t.Errorf("%+v with %d dead letters, %v", r, n, err)
		}
	})
}
