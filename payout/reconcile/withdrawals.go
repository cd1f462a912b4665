package reconcile

import (
	"cmp"
	"context"
	"slices"

	"redrain/internal/sqldb"
	"redrain/payout/ledger"
	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// withdrawn is a withdrawal with its last event.
type withdrawn struct {
	id, user, receiver string
	state, lastState   ledger.WithdrawalState
	amount             int64
	paidTxn, returnTxn int64
	sentTo             string // the receiver, by the events
}

// withdrawalsAtOnce is the number of withdrawals in one statement, with a few events each.
const withdrawalsAtOnce = 500

// checkWithdrawals reports withdrawals whose state contradicts their columns or their events. The check of the
// transactions proves the movement of the money. A withdrawal gets its receiver with its first try, and every later
// event names it.
func checkWithdrawals(ctx context.Context, q sqldb.Querier, found *findings) error {
	var w withdrawn
	for after := ""; ; after = w.id {
		err := q.Each(ctx, func(scan sqldb.Scan) error {
			var is withdrawn
			err := scan(&is.id, &is.user, &is.receiver, &is.state, &is.amount, &is.paidTxn, &is.returnTxn,
				&is.lastState, &is.sentTo)
			if err != nil {
				return err
			}
			if is.id != w.id {
				w.check(found)
			} else if w.sentTo != "" && is.sentTo != w.sentTo {
				found.add("a withdrawal with two receivers", "withdrawal %s was sent to %q, and a later event of "+
					"its history names the receiver %q: ask both whether they have paid it", w.id, w.sentTo, is.sentTo)
				is.sentTo = cmp.Or(is.sentTo, w.sentTo)
			}
			w = is
			return nil
		}, "SELECT w.id, w.user_id, w.receiver, w.state, w.amount, w.paid_id, w.return_id, COALESCE(e.state, ''), "+
			"COALESCE(e.receiver, '') FROM (SELECT id, user_id, receiver, state, amount, paid_id, return_id "+
			"FROM withdrawal WHERE id > ? ORDER BY id LIMIT ?) w "+
			"LEFT JOIN withdrawal_event e ON e.withdrawal_id = w.id ORDER BY w.id, e.id", after, withdrawalsAtOnce)
		if err != nil {
			return err
		}
		if w.id == after {
			break
		}
	}
	w.check(found)
	return compareOpen(ctx, q, found, booking.KindClearing, "withdrawal WHERE state IN ('requested', 'held', 'sent', "+
		"'action_required')", "withdrawals that have not ended")
}

// check compares a withdrawal with its columns and its last event.
func (w *withdrawn) check(found *findings) {
	if w.id == "" {
		return
	}
	if (w.paidTxn > 0) != (w.state == ledger.WithdrawalPaid) ||
		(w.returnTxn > 0) != (w.state.Brief() == ledger.WithdrawalFailed) {
		found.add("a withdrawal that contradicts its money", "withdrawal %s of player %s is %s, but its %d left by "+
			"transaction %d and were returned by %d (0: not)", w.id, w.user, w.state, w.amount, w.paidTxn, w.returnTxn)
	}
	unsent := []ledger.WithdrawalState{ledger.WithdrawalRequested, ledger.WithdrawalHeld}
	if w.state != ledger.WithdrawalReturned && (w.receiver == "") != slices.Contains(unsent, w.state) {
		found.add("a withdrawal that contradicts its receiver", "withdrawal %s of player %s, amount %d, is %s, but "+
			"its receiver is %q", w.id, w.user, w.amount, w.state, w.receiver)
	}
	if w.receiver != w.sentTo {
		found.add("a withdrawal with another receiver", "withdrawal %s names the receiver %q, but its history ends "+
			"with %q", w.id, w.receiver, w.sentTo)
	}
	if w.state != w.lastState {
		found.add("a withdrawal whose history says otherwise", "withdrawal %s is %s, but its history ends with %q",
			w.id, w.state, w.lastState)
	}
}

// compareOpen compares the balances of a kind of account with the open rows that the money is kept for.
func compareOpen(ctx context.Context, q sqldb.Querier, found *findings, kind, rows, what string) error {
	var have, open rain.Money
	_, err := q.First(ctx, []any{&have, &open}, "SELECT "+
		"COALESCE((SELECT SUM(amount) FROM balance WHERE account_id >= ? AND account_id < ?), 0), "+
		"COALESCE((SELECT SUM(amount) FROM "+rows+"), 0)", kind+":", kind+";")
	if err == nil && have != open {
		found.add(what, "the %s accounts hold %d, but the %s sum to %d", kind, have, what, open)
	}
	return err
}

// readHeld sums the campaign's payouts that are held, or were held and returned to the sponsor. The check of the
// transactions proves the movement of the money.
func (r *campaignCheck) readHeld(ctx context.Context, q sqldb.Querier) error {
	_, err := q.First(ctx, []any{&r.held, &r.confirmed}, "SELECT "+
		"COALESCE(SUM(CASE WHEN state = 'held' THEN amount ELSE 0 END), 0), "+
		"COALESCE(SUM(CASE WHEN state = 'confirmed' THEN amount ELSE 0 END), 0) FROM held WHERE campaign_id = ? "+
		"AND state IN ('held', 'confirmed')", r.campaign.ID)
	return err
}

// checkHeld compares the open held wins with the held accounts, in one snapshot. It also reports held wins without a
// payout, except of removed campaigns.
func checkHeld(ctx context.Context, q sqldb.Querier, found *findings) error {
	err := compareOpen(ctx, q, found, booking.KindHeld, "held WHERE state = 'held'", "undecided wins")
	if err != nil {
		return err
	}
	return q.Each(ctx, func(scan sqldb.Scan) error {
		var claim, user string
		var amount int64
		if err := scan(&claim, &user, &amount); err != nil {
			return err
		}
		found.add("a held win that was not won", "held win %s of player %s, amount %d: there is no such payout", claim,
			user, amount)
		return nil
	}, "SELECT h.claim, h.user_id, h.amount FROM held h LEFT JOIN payout p ON p.campaign_id = h.campaign_id AND "+
		"p.packet = h.packet AND p.claim = h.claim AND p.user_id = h.user_id AND p.amount = h.amount AND "+
		"p.won_at = h.won_at AND p.drop_id = h.drop_id WHERE h.claim > '' AND p.packet IS NULL "+
		"AND NOT EXISTS (SELECT 1 FROM archive a WHERE a.campaign_id = h.campaign_id) ORDER BY h.claim LIMIT ?",
		maxFindings+1)
}
