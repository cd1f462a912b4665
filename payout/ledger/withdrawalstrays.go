package ledger

import (
	"context"
	"fmt"
	"slices"
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
	for _, state := range []WithdrawalState{WithdrawalSent, WithdrawalAction} {
		var passed spot
		for more := true; more; {
			strays, err := s.straysBehind(ctx, state, receiver, passed, limit)
			if err != nil {
				return buried, fmt.Errorf("looking for withdrawals of other receivers: %w", err)
			}
			more = len(strays) > 0
			for _, w := range strays {
				is := false
				err := s.endTry(ctx, w, func(ctx context.Context, tx *sqldb.Tx) (err error) {
					is, err = s.bury(ctx, tx, w, "was sent to "+w.Receiver+"; this server uses "+receiver)
					return err
				})
				passed = spotOf(w)
				if err != nil {
					return buried, err
				}
				if more = false; is { // the rest comes with the next round
					buried = append(buried, w)
				}
			}
		}
	}
	return buried, nil
}

// straysBehind reads up to limit withdrawals in a state that were sent to another receiver, behind a spot.
func (s *Withdrawals) straysBehind(ctx context.Context, state WithdrawalState, receiver string, passed spot,
	limit int) (strays []Withdrawal, err error) {
	for _, behind := range passed.behind() {
		some, err := sqldb.List(ctx, s.db, scanWithdrawal, withdrawalSelect+"WHERE state = ? AND dead = 0 AND "+
			"next_at <= ? "+behind.where+"AND receiver NOT IN ('', ?) ORDER BY next_at, id LIMIT ?",
			slices.Concat([]any{string(state), s.clock() - strayGrace.Milliseconds()}, behind.args,
				[]any{receiver, limit - len(strays)})...)
		if err != nil {
			return nil, err
		}
		if strays = append(strays, some...); len(strays) == limit {
			break
		}
	}
	return strays, nil
}
