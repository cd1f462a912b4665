package ledger

import (
	"context"
	"fmt"
	"time"

	"redrain/internal/sqldb"
)

// strayGrace is the time for which a withdrawal of another receiver may be due before it counts as orphaned. Until
// then a process with that receiver may take it: while settings are rolled out, processes with both receivers run.
const strayGrace = time.Minute

// BuryStrays makes dead letters of at most limit withdrawals of each state that were sent to another receiver and are
// overdue. It returns them as they were before.
func (s *Withdrawals) BuryStrays(ctx context.Context, receiver string, limit int) (buried []Withdrawal, err error) {
	for _, state := range sentStates {
		strays, err := withdrawalTable.List(ctx, s.db, "WHERE state = ? AND dead = 0 AND next_at <= ? "+
			"AND receiver NOT IN ('', ?) ORDER BY next_at, id LIMIT ?", string(state),
			s.clock()-strayGrace.Milliseconds(), receiver, limit)
		if err != nil {
			return buried, fmt.Errorf("find withdrawals of other receivers: %w", err)
		}
		for _, w := range strays {
			is := false
			err := s.endTry(ctx, w, func(ctx context.Context, tx *sqldb.Tx, _ Withdrawal) (err error) {
				is, err = s.deadLetter(ctx, tx, w, "was sent to "+w.Receiver+"; this server uses "+receiver)
				return err
			})
			if err != nil {
				return buried, err
			}
			if is {
				buried = append(buried, w)
			}
		}
	}
	return buried, nil
}
