package reconcile

import (
	"context"
	"slices"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/history"
	"redrain/rain"
)

// openStates are the states of a withdrawal that has not ended.
const openStates = "('requested', 'held', 'sent', 'action_required')"

// openThings are queries for the things that are not over, page by page: they may be changed by hand at any time, so no
// checkpoint closes them. What is never over, and of which there is ever more, has its turns: turnKinds.
var openThings = map[history.Kind]string{
	history.Campaign: "SELECT id FROM campaign WHERE (drained < 1 OR drained > 1) AND id > ? ORDER BY id LIMIT ?",
	history.Withdrawal: "SELECT id FROM withdrawal WHERE state IN " + openStates +
		" AND id > ? ORDER BY id LIMIT ?",
	history.Letter: "SELECT fingerprint FROM dead_letter WHERE resolved_at = 0 AND fingerprint > ? " +
		"ORDER BY fingerprint LIMIT ?",
	history.Held:     "SELECT claim FROM held WHERE state = 'held' AND claim > ? ORDER BY claim LIMIT ?",
	history.Approval: "SELECT id FROM approval WHERE state = 'pending' AND id > ? ORDER BY id LIMIT ?",
	history.Archive:  "SELECT id FROM archive WHERE finished_at = 0 AND id > ? ORDER BY id LIMIT ?",
}

// readOpen notes what is not over, what has its turn, and what the new lines and events are about.
func (r *recentStep) readOpen(ctx context.Context, q sqldb.Querier) error {
	err := sqldb.EachIn(ctx, q, func(scan sqldb.Scan) error {
		var kind history.Kind
		var thing string
		err := scan(&kind, &thing)
		if of := r.things[kind]; of != nil {
			of[thing] = true
		}
		if kind == history.Archive { // it has its campaign's name
			r.campaigns[thing] = true
		}
		return err
	}, "SELECT kind, thing FROM history WHERE id IN", r.histories)
	if err != nil {
		return err
	}
	err = sqldb.EachIn(ctx, q, func(scan sqldb.Scan) error {
		var id string
		err := scan(&id)
		r.things[history.Withdrawal][id] = true
		return err
	}, "SELECT withdrawal_id FROM withdrawal_event WHERE id IN", r.events)
	if err != nil || !r.end {
		return err
	}
	for kind, ids := range r.turn {
		for _, id := range ids {
			r.things[kind][id] = true
		}
	}
	for kind, query := range openThings {
		for after := ""; ; {
			ids, err := sqldb.Column[string](ctx, q, query, after, sqldb.Chunk)
			if err != nil {
				return err
			}
			for _, id := range ids {
				r.things[kind][id] = true
			}
			if len(ids) < sqldb.Chunk {
				break
			}
			after = ids[len(ids)-1]
		}
	}
	for _, kind := range []history.Kind{history.Campaign, history.Archive} {
		for id := range r.things[kind] {
			r.campaigns[id] = true
		}
	}
	return nil
}

// checkHistories holds these things against the newest lines of their histories.
func (r *recentStep) checkHistories(ctx context.Context, q sqldb.Querier) error {
	for _, kind := range history.Kinds {
		for ids := range slices.Chunk(sortedKeys(r.things[kind]), askedAtOnce) {
			if err := checkHistoriesOf(ctx, q, kind, ids, r.found); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkWithdrawals looks at the states of these withdrawals, and at what is on its way of their players' money.
func (r *recentStep) checkWithdrawals(ctx context.Context, q sqldb.Querier) error {
	users := map[string]bool{}
	for id := range r.accounts {
		if user, is := strings.CutPrefix(id, booking.KindClearing+":"); is {
			users[user] = true
		}
	}
	for ids := range slices.Chunk(sortedKeys(r.things[history.Withdrawal]), askedAtOnce) {
		marks, args := sqldb.Marks(len(ids)), sqldb.Args(ids)
		if err := checkStates(ctx, q, r.found, "id IN "+marks+" AND ", args...); err != nil {
			return err
		}
		if _, err := checkLastEvents(ctx, q, r.found, "w.id IN "+marks, args...); err != nil {
			return err
		}
		of, err := sqldb.Column[string](ctx, q, "SELECT user_id FROM withdrawal WHERE id IN "+marks, args...)
		if err != nil {
			return err
		}
		for _, user := range of {
			users[user] = true
		}
	}
	if !r.end {
		return nil
	}
	for some := range slices.Chunk(sortedKeys(users), askedAtOnce) {
		if err := r.checkClearing(ctx, q, some); err != nil {
			return err
		}
	}
	return nil
}

// checkClearing compares what players have on its way with their withdrawals that have not ended.
func (r *recentStep) checkClearing(ctx context.Context, q sqldb.Querier, users []string) error {
	open := map[string]rain.Money{}
	err := q.Each(ctx, func(scan sqldb.Scan) error {
		var user string
		var amount rain.Money
		err := scan(&user, &amount)
		open[user] = amount
		return err
	}, "SELECT user_id, SUM(amount) FROM withdrawal WHERE state IN "+openStates+" AND user_id IN "+
		sqldb.Marks(len(users))+" GROUP BY user_id", sqldb.Args(users)...)
	if err != nil {
		return err
	}
	held := map[string]rain.Money{}
	ids := make([]string, len(users))
	for i, user := range users {
		ids[i] = booking.ClearingAccount(user).ID()
	}
	err = q.Each(ctx, func(scan sqldb.Scan) error {
		var id string
		var amount rain.Money
		err := scan(&id, &amount)
		held[strings.TrimPrefix(id, booking.KindClearing+":")] = amount
		return err
	}, "SELECT account_id, amount FROM balance WHERE account_id IN "+sqldb.Marks(len(ids)), sqldb.Args(ids)...)
	for _, user := range users {
		if held[user] != open[user] {
			r.found.add("money on its way", user+delta(held[user], open[user]), "the clearing account of player %s "+
				"holds %d, but their withdrawals that have not ended sum to %d", user, held[user], open[user])
		}
	}
	return err
}
