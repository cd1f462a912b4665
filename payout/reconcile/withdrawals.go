package reconcile

import (
	"context"

	"redrain/internal/sqldb"
)

// checkWithdrawals looks for withdrawals whose state is not what has become of their money: it is given back
// exactly when they have failed. The state and the transaction are written together, so one statement sees both or
// neither. That the money moved as they say is checked with the transactions.
func checkWithdrawals(ctx context.Context, q sqldb.Querier, found *findings) error {
	for _, where := range []string{
		"state = 'failed' AND return_id = 0",  // by the index of the states
		"return_id > 0 AND state <> 'failed'", // by that of the transactions
	} {
		err := q.Each(ctx, func(scan sqldb.Scan) error {
			var id, user, state string
			var amount, back int64
			if err := scan(&id, &user, &state, &amount, &back); err != nil {
				return err
			}
			if back == 0 {
				found.add("a failed withdrawal without its return", id,
					"withdrawal %s of player %s is %s, but its %d were not given back", id, user, state, amount)
				return nil
			}
			found.add("a return of what has not failed", id,
				"withdrawal %s of player %s is %s, but its %d were given back by transaction %d", id, user, state,
				amount, back)
			return nil
		}, "SELECT id, user_id, state, amount, return_id FROM withdrawal WHERE "+where+" ORDER BY id LIMIT ?",
			maxFindings+1)
		if err != nil {
			return err
		}
	}
	return nil
}
