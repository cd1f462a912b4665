package reconcile

import (
	"cmp"
	"context"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// withdrawalFaults select the withdrawals whose columns contradict each other. Each query uses an index and selects
// the id, the player, the state, the amount, and a number for the text. The state and the transaction are written
// together, so one statement sees both or neither. The check of the transactions proves the movement of the money.
var withdrawalFaults = []struct{ kind, where, number, text string }{
	{"a paid withdrawal without its transaction", "state = 'paid' AND paid_id = 0", "paid_id",
		"withdrawal %s of player %s is %s, but its %d have not left (transaction %d)"},
	{"money that has left and is not paid", "paid_id > 0 AND state <> 'paid'", "paid_id",
		"withdrawal %s of player %s is %s, but its %d have left by transaction %d"},
	{"a failed withdrawal without its return", "state IN ('refused', 'returned') AND return_id = 0", "return_id",
		"withdrawal %s of player %s is %s, but its %d were not returned (transaction %d)"},
	{"a return of a withdrawal that has not failed", "return_id > 0 AND state NOT IN ('refused', 'returned')",
		"return_id",
		"withdrawal %s of player %s is %s, but its %d were returned by transaction %d"},
	{"a withdrawal in no state", "state NOT IN ('requested', 'held', 'sent', 'action_required', 'paid', 'refused', " +
		"'returned')", "txn_id",
		"withdrawal %s of player %s is %s, which is no state; %d were taken by transaction %d"},
	{"a sent withdrawal without a receiver", "receiver = '' AND " +
		"state IN ('sent', 'action_required', 'paid', 'refused')", "sent_at",
		"withdrawal %s of player %s is %s (amount %d, sent at %d), but it names no receiver"},
	{"a withdrawal that was not sent and has a receiver", "receiver <> '' AND state IN ('requested', 'held')",
		"sent_at", "withdrawal %s of player %s is %s (amount %d, sent at %d), but it names a receiver"},
}

// checkWithdrawals reports withdrawals whose state contradicts their money or their history, and compares all open
// withdrawals with the clearing accounts.
func checkWithdrawals(ctx context.Context, q sqldb.Querier, found *findings) error {
	if err := checkStates(ctx, q, found); err != nil {
		return err
	}
	if err := checkHistories(ctx, q, found); err != nil {
		return err
	}
	return checkClearing(ctx, q, found)
}

// checkStates reports withdrawals with contradicting columns.
func checkStates(ctx context.Context, q sqldb.Querier, found *findings) error {
	for _, fault := range withdrawalFaults {
		err := q.Each(ctx, func(scan sqldb.Scan) error {
			var id, user, state string
			var amount, number int64
			if err := scan(&id, &user, &state, &amount, &number); err != nil {
				return err
			}
			found.add(fault.kind, fault.text, id, user, state, amount, number)
			return nil
		}, "SELECT id, user_id, state, amount, "+fault.number+" FROM withdrawal WHERE "+fault.where+
			" ORDER BY id LIMIT ?", maxFindings+1)
		if err != nil {
			return err
		}
	}
	return nil
}

// checkHistories compares each withdrawal with its events, page by page.
func checkHistories(ctx context.Context, q sqldb.Querier, found *findings) error {
	for after := ""; ; {
		last, err := checkEvents(ctx, q, found, after)
		if err != nil || last == "" {
			return err
		}
		after = last
	}
}

// historiesAtOnce is the number of withdrawals in one statement, with a few events each.
const historiesAtOnce = 500

// history is a withdrawal with its events.
type history struct{ id, state, receiver, lastState, sentTo string }

// checkEvents compares a page of withdrawals with their events, and returns the id of the last one, or "". A
// withdrawal gets its receiver with its first try, and every later event names it.
func checkEvents(ctx context.Context, q sqldb.Querier, found *findings, after string) (at string, err error) {
	var h history
	err = q.Each(ctx, func(scan sqldb.Scan) error {
		is := history{}
		if err := scan(&is.id, &is.state, &is.receiver, &is.lastState, &is.sentTo); err != nil {
			return err
		}
		if is.id != h.id {
			h.check(found)
		} else if h.sentTo != "" && is.sentTo != h.sentTo {
			found.add("a withdrawal with two receivers", "withdrawal %s was sent to %q, and a later event of its "+
				"history names the receiver %q: ask both whether they have paid it", h.id, h.sentTo, is.sentTo)
			is.sentTo = cmp.Or(is.sentTo, h.sentTo)
		}
		h = is
		return nil
	}, "SELECT w.id, w.state, w.receiver, COALESCE(e.state, ''), COALESCE(e.receiver, '') FROM "+
		"(SELECT id, state, receiver FROM withdrawal WHERE id > ? ORDER BY id LIMIT ?) w "+
		"LEFT JOIN withdrawal_event e ON e.withdrawal_id = w.id ORDER BY w.id, e.id", after, historiesAtOnce)
	h.check(found)
	return h.id, err
}

// check compares a withdrawal with its last event.
func (h history) check(found *findings) {
	if h.receiver != h.sentTo {
		found.add("a withdrawal with another receiver", "withdrawal %s names the receiver %q, but its history ends "+
			"with %q", h.id, h.receiver, h.sentTo)
	}
	if h.state != h.lastState {
		found.add("a withdrawal whose history says otherwise", "withdrawal %s is %s, but its history ends with %q",
			h.id, h.state, h.lastState)
	}
}

// checkClearing compares the open withdrawals with the clearing accounts, in one snapshot.
func checkClearing(ctx context.Context, q sqldb.Querier, found *findings) error {
	var held, open rain.Money
	_, err := q.First(ctx, []any{&held, &open}, "SELECT "+
		"COALESCE((SELECT SUM(amount) FROM balance WHERE account_id >= ? AND account_id < ?), 0), "+
		"COALESCE((SELECT SUM(amount) FROM withdrawal "+
		"WHERE state IN ('requested', 'held', 'sent', 'action_required')), 0)",
		booking.KindClearing+":", booking.KindClearing+";")
	if err == nil && held != open {
		found.add("withdrawals in flight", "the clearing accounts hold %d, but the withdrawals that have not ended "+
			"sum to %d", held, open)
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
	var have, open rain.Money
	_, err := q.First(ctx, []any{&have, &open}, "SELECT "+
		"COALESCE((SELECT SUM(amount) FROM balance WHERE account_id >= ? AND account_id < ?), 0), "+
		"COALESCE((SELECT SUM(amount) FROM held WHERE state = 'held'), 0)",
		booking.KindHeld+":", booking.KindHeld+";")
	if err != nil {
		return err
	}
	if have != open {
		found.add("held wins", "the held accounts have %d, but the undecided wins sum to %d", have, open)
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
