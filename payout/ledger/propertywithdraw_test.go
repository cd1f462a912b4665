package ledger_test

import (
	"errors"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
	"redrain/rain"
)

// withdraw makes a withdrawal, or asks again for one that there is.
func (m *model) withdraw(rt *rapid.T, b *paytest.Books, id, user string, amount rain.Money) {
	w, balance, err := b.Withdraw(rt.Context(), id, user, amount)
	before, made := m.out[id]
	switch {
	case made && (before.User != user || before.Amount != amount):
		if !errors.Is(err, ledger.ErrIdempotencyUnequal) {
			rt.Fatalf("%s stands for %+v, and is taken for %d of %s: %v", id, before, amount, user, err)
		}
		return
	case !made && m.accounts[booking.UserAccount(user)] < amount:
		if !errors.Is(err, booking.ErrInsufficientFunds) {
			rt.Fatalf("%s takes %d, of %d: %v", user, amount, m.accounts[booking.UserAccount(user)], err)
		}
		return
	case err != nil:
		rt.Fatal(err)
	case !made:
		m.move(booking.UserAccount(user), booking.ClearingAccount(user), amount)
		m.out[id] = w
	}
	if w.State != m.out[id].State || balance != m.accounts[booking.UserAccount(user)] {
		rt.Fatalf("%+v and %d, want %+v and %d", w, balance, m.out[id], m.accounts[booking.UserAccount(user)])
	}
}

// answer is a try at one of the withdrawals and its end, sometimes overtaken by another try, sometimes said twice.
func (m *model) answer(rt *rapid.T, b *paytest.Books) {
	if len(m.out) == 0 {
		rt.Skip("no withdrawals")
	}
	ctx := rt.Context()
	id := rapid.SampledFrom(slices.Sorted(maps.Keys(m.out))).Draw(rt, "withdrawal")
	w, err := b.Withdrawal(ctx, id)
	paytest.Must(rt, err)
	lease := func(w ledger.Withdrawal) ledger.Withdrawal {
		taken, err := b.Take(ctx, []ledger.Withdrawal{w}, paytest.Bank, b.Clock.Now()+1_000_000)
		paytest.Must(rt, err)
		if open := w.State.Open() && !w.Dead; open != (len(taken) == 1) {
			rt.Fatalf("leased %+v of %+v", taken, w)
		}
		if len(taken) == 1 {
			is := m.out[id]
			is.State = taken[0].State
			m.out[id] = is
			return taken[0]
		}
		return w
	}
	mine := lease(w)
	if rapid.IntRange(0, 3).Draw(rt, "overtaken") == 0 {
		lease(mine)
		w.LastError = "overtaken"
	}
	open := w.State.Open() && !w.Dead && w.LastError != "overtaken"
	for range rapid.IntRange(1, 2).Draw(rt, "times") {
		after := m.out[id]
		said := rapid.SampledFrom([]string{"paid", "refused", "waits", "action", "again", "dead", "redriven"}).Draw(rt,
			"answer")
		switch said {
		case "paid":
			err = b.RecordPaid(ctx, mine, "bank")
			if after.State.Open() {
				after.State = ledger.WithdrawalPaid
				m.move(booking.ClearingAccount(w.User), booking.World, w.Amount)
			}
		case "refused":
			err = b.RecordRefused(ctx, mine, "no")
			if open && after.State.Open() {
				after.State = ledger.WithdrawalRefused
				m.move(booking.ClearingAccount(w.User), booking.UserAccount(w.User), w.Amount)
			}
		case "waits", "action":
			is := ledger.Waiting{State: ledger.WithdrawalSent}
			if said == "action" {
				is = ledger.Waiting{State: ledger.WithdrawalAction, Action: ledger.Action{Data: "confirm"}}
			}
			err = b.RecordWaiting(ctx, mine, is)
			if open && after.State.Open() {
				after.State = is.State
			}
		case "again":
			err = b.RecordRetry(ctx, mine, 0, "later")
		case "dead":
			err = b.RecordDead(ctx, mine, "too often")
		case "redriven":
			_, err = b.Retry(ctx, id)
		}
		if err != nil && !errors.Is(err, ledger.ErrLeaseLost) && !errors.Is(err, ledger.ErrPaidTwice) &&
			!errors.Is(err, ledger.ErrUnknownClaim) {
			rt.Fatal(err)
		}
		if is, err := b.Withdrawal(ctx, id); err != nil || is.State != after.State {
			rt.Fatalf("%+v is %s (%v), want %s", w, is.State, err, after.State)
		}
		m.out[id] = after
		// the first answer of a try ends its lease; what is not dead cannot be redriven
		open = open && said == "redriven"
	}
}
