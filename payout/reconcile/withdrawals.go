package reconcile

import (
	"context"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// withdrawalFaults are the withdrawals whose columns contradict each other. Each query selects the id, the player, the
// state, the amount, and a number that the text names; it goes by an index. The state and the transaction are written
// together, so one statement sees both or neither. That the money moved as they say is checked with the transactions.
var withdrawalFaults = []struct{ kind, where, number, text string }{
	{"a paid withdrawal without its transaction", "state = 'paid' AND paid_id = 0", "paid_id",
		"withdrawal %s of player %s is %s, but its %d have not left (transaction %d)"},
	{"money that has left and is not paid", "paid_id > 0 AND state <> 'paid'", "paid_id",
		"withdrawal %s of player %s is %s, but its %d have left by transaction %d"},
	{"a failed withdrawal without its return", "state IN ('refused', 'returned') AND return_id = 0", "return_id",
		"withdrawal %s of player %s is %s, but its %d were not given back (transaction %d)"},
	{"a return of what has not failed", "return_id > 0 AND state NOT IN ('refused', 'returned')", "return_id",
		"withdrawal %s of player %s is %s, but its %d were given back by transaction %d"},
	{"a withdrawal of nobody's", "state NOT IN ('requested', 'held', 'sent', 'action_required', 'paid', 'refused', " +
		"'returned')", "txn_id",
		"withdrawal %s of player %s is %s, which is no state; %d were taken by transaction %d"},
	{"a withdrawal that was sent to nobody", "receiver = '' AND " +
		"state IN ('sent', 'action_required', 'paid', 'refused')", "sent_at",
		"withdrawal %s of player %s is %s (amount %d, sent at %d), but it names no receiver"},
	{"a withdrawal that was not sent and has a receiver", "receiver <> '' AND state IN ('requested', 'held')",
		"sent_at", "withdrawal %s of player %s is %s (amount %d, sent at %d), but it names a receiver"},
}

// checkWithdrawals looks for withdrawals whose state is not what has become of their money, or is not where their
// history ends, and compares all that is on its way with what the clearing accounts hold.
func checkWithdrawals(ctx context.Context, q sqldb.Querier, found *findings) error {
	if err := checkStates(ctx, q, found); err != nil {
		return err
	}
	if err := checkHistories(ctx, q, found); err != nil {
		return err
	}
	return checkClearing(ctx, q, found)
}

// checkStates looks for withdrawals that contradict themselves.
func checkStates(ctx context.Context, q sqldb.Querier, found *findings) error {
	for _, fault := range withdrawalFaults {
		err := q.Each(ctx, func(scan sqldb.Scan) error {
			var id, user, state string
			var amount, number int64
			if err := scan(&id, &user, &state, &amount, &number); err != nil {
				return err
			}
			found.add(fault.kind, id, fault.text, id, user, state, amount, number)
			return nil
		}, "SELECT id, user_id, state, amount, "+fault.number+" FROM withdrawal WHERE "+fault.where+
			" ORDER BY id LIMIT ?", maxFindings+1)
		if err != nil {
			return err
		}
	}
	return nil
}

// checkHistories compares the state and the receiver of each withdrawal with the last line of its history, page by
// page.
func checkHistories(ctx context.Context, q sqldb.Querier, found *findings) error {
	for after := ""; ; {
		last, err := checkLastEvents(ctx, q, found, "w.id > ? ORDER BY w.id LIMIT ?", after, sqldb.Chunk)
		if err != nil || last == "" {
			return err
		}
		after = last
	}
}

// checkLastEvents compares some withdrawals, and returns the id of the last of them; "" where there is none.
func checkLastEvents(ctx context.Context, q sqldb.Querier, found *findings, of string, args ...any) (at string,
	err error) {
	err = q.Each(ctx, func(scan sqldb.Scan) error {
		var id, state, last, receiver, sentTo string
		if err := scan(&id, &state, &last, &receiver, &sentTo); err != nil {
			return err
		}
		at = id
		if receiver != sentTo {
			found.add("a withdrawal with another receiver", id,
				"withdrawal %s names the receiver %q, but its history ends with %q", id, receiver, sentTo)
		}
		if last != state {
			found.add("a withdrawal whose history says otherwise", id,
				"withdrawal %s is %s, but its history ends with %q", id, state, last)
		}
		return nil
	}, "SELECT w.id, w.state, COALESCE(e.state, ''), w.receiver, COALESCE(e.receiver, '') FROM withdrawal w "+
		"LEFT JOIN withdrawal_event e ON e.id = (SELECT MAX(n.id) FROM withdrawal_event n "+
		"WHERE n.withdrawal_id = w.id) WHERE "+of, args...)
	return at, err
}

// checkClearing compares what is on its way out, all as of one moment.
func checkClearing(ctx context.Context, q sqldb.Querier, found *findings) error {
	var held, open rain.Money
	_, err := q.First(ctx, []any{&held, &open}, "SELECT "+
		"COALESCE((SELECT SUM(amount) FROM balance WHERE account_id >= ? AND account_id < ?), 0), "+
		"COALESCE((SELECT SUM(amount) FROM withdrawal "+
		"WHERE state IN ('requested', 'held', 'sent', 'action_required')), 0)",
		booking.KindClearing+":", booking.KindClearing+";")
	if err == nil && held != open {
		found.add("money on its way", delta(held, open),
			"the clearing accounts hold %d, but the withdrawals that have not ended sum to %d", held, open)
	}
	return err
}
