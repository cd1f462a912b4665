package reconcile

import (
	"context"
	"time"

	"redrain/internal/sqldb"
	"redrain/payout/ledger"
)

// datedSlack is how much the clocks of nodes may differ, amply.
const datedSlack = time.Minute

// triedStates are the states in which a withdrawal is tried again and again.
var triedStates = []string{string(ledger.WithdrawalRequested), string(ledger.WithdrawalSent),
	string(ledger.WithdrawalAction)}

// checkDated looks for what was dated into the future, by hand or by a wrong clock, to keep everybody from it: leases
// that end, and withdrawals that are due, later than any that is written. Whoever is asked to do that work does it all
// the same, which mends the row: one that is found is also one that nobody has asked for.
func (s *Reconciler) checkDated(ctx context.Context, found *findings) error {
	now := s.clock()
	latest := now + (ledger.LongestLease + datedSlack).Milliseconds()
	for after := ""; ; {
		names, err := sqldb.List(ctx, s.db, func(scan sqldb.Scan) (name string, err error) {
			var holder string
			var ends int64
			err = scan(&name, &holder, &ends)
			if err == nil && ends > latest {
				found.add("a lease dated into the future", name, "the lease %q of %q ends in %d s, and none is taken "+
					"for more than %d s: it was dated by hand or by a wrong clock", name, holder, (ends-now)/1000,
					int64(ledger.LongestLease.Seconds()))
			}
			return name, err
		}, "SELECT name, holder, expires_at FROM lease WHERE name > ? ORDER BY name LIMIT ?", after, sqldb.Chunk)
		if err != nil {
			return err
		}
		if len(names) < sqldb.Chunk {
			break
		}
		after = names[len(names)-1]
	}
	for _, state := range triedStates {
		err := s.db.Each(ctx, func(scan sqldb.Scan) error {
			var id, user string
			var due int64
			err := scan(&id, &user, &due)
			found.add("a withdrawal dated into the future", id, "withdrawal %s of player %s is %s and due in %d s, "+
				"and none is put off by more than %d s: it was dated by hand or by a wrong clock", id, user, state,
				(due-now)/1000, int64(ledger.LongestWait.Seconds()))
			return err
		}, "SELECT id, user_id, next_at FROM withdrawal WHERE state = ? AND dead = 0 AND next_at > ? "+
			"ORDER BY next_at LIMIT ?", state, now+(ledger.LongestWait+datedSlack).Milliseconds(), maxFindings+1)
		if err != nil {
			return err
		}
	}
	return nil
}
