package ledger

import (
	"context"
	"fmt"
	"time"

	"redrain/internal/sqldb"
)

// strayGrace is how long a withdrawal that was sent to another receiver may be due, before it is taken for one that
// nobody asks for any more. Until then a process that has its receiver may take it: while the settings of several are
// being changed, both kinds run side by side.
const strayGrace = time.Minute

// BuryStrays makes dead letters of up to limit withdrawals of each state that were sent to another receiver than this
// one, and for which nobody asks it any more. It returns them, as they were.
func (s *Withdrawals) BuryStrays(ctx context.Context, receiver string, limit int) (buried []Withdrawal, err error) {
	for _, state := range sentStates {
		strays, err := withdrawalTable.List(ctx, s.db, "WHERE state = ? AND dead = 0 AND next_at <= ? "+
			"AND receiver NOT IN ('', ?) ORDER BY next_at, id LIMIT ?", string(state),
			s.clock()-strayGrace.Milliseconds(), receiver, limit)
		if err != nil {
			return buried, fmt.Errorf("looking for withdrawals of other receivers: %w", err)
		}
		for _, w := range strays {
			is := false
			err := s.endTry(ctx, w, func(ctx context.Context, tx *sqldb.Tx, _ Withdrawal) (err error) {
				is, err = s.bury(ctx, tx, w, "was sent to "+w.Receiver+"; this server uses "+receiver)
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
