package ledger

import (
	"context"
	"fmt"
	"time"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
)

// ReceiverLimits bounds the load on one receiver by all nodes together. All nodes must have the same limits. The zero
// value limits nothing.
type ReceiverLimits struct {
	Rate     float64 // tries begun per second, evenly spaced, at least 0.01; 0 = no limit
	InFlight int     // concurrent tries; 0 = no limit
}

// Paced returns the same withdrawals for payers, with limits.
func (s *Withdrawals) Paced(l ReceiverLimits) *Withdrawals {
	paced := *s
	paced.pace = l
	return &paced
}

// ahead is the largest distance of a leased try in the future. A payer that polls once a second can then use every
// turn.
const ahead = time.Second

// LongestTurn is the limit for a receiver's next turn: that of the slowest rate, after one that was leased ahead. A
// later one comes from a tampered row or a wrong clock, and is ignored.
const LongestTurn = 2 * time.Minute

// turns are the times at which tries may begin, in microseconds, one step apart. A lock of the receiver's row
// serializes all nodes that lease for it.
type turns struct {
	first, step int64
	count       int
}

// lockReceiver locks a receiver's row until the transaction ends, and returns the time of its next turn.
func lockReceiver(ctx context.Context, tx *sqldb.Tx, receiver string) (next int64, err error) {
	found, err := tx.First(ctx, []any{&next}, "SELECT next_turn FROM provider_pace WHERE receiver = ?"+tx.ForUpdate(),
		receiver)
	if err != nil {
		return 0, fmt.Errorf("lock the receiver %s: %w", receiver, err)
	}
	if !found {
		row := [][]any{{receiver, 0}}
		err = booking.AgainIfDuplicate(tx.Insert(ctx, "provider_pace", []string{"receiver", "next_turn"}, row,
			sqldb.Merge{}))
	}
	return next, err
}

// takeTurns locks a receiver's row and returns the turns of at most limit tries.
func (s *Withdrawals) takeTurns(ctx context.Context, tx *sqldb.Tx, receiver string, now int64,
	limit int) (t turns, err error) {
	t = turns{first: now * 1000, count: limit}
	if s.pace == (ReceiverLimits{}) {
		return t, nil
	}
	next, err := lockReceiver(ctx, tx, receiver)
	if err != nil {
		return t, err
	}
	if s.pace.InFlight > 0 {
		if t.count, err = s.roomFor(ctx, tx, receiver, now, t.count); err != nil {
			return t, err
		}
	}
	if s.pace.Rate > 0 {
		t.step = int64(1e6 / s.pace.Rate)
		if next <= (now+(LongestTurn+waitSlack).Milliseconds())*1000 {
			t.first = max(t.first, next)
		}
		room := now*1000 + ahead.Microseconds() - t.first
		t.count = max(0, min(t.count, int((room+t.step-1)/t.step)))
	}
	return t, nil
}

// roomFor returns the number of tries that may still be in flight. If a try's node has died, the try counts until its
// lease ends. A lease that ends too late does not count.
func (s *Withdrawals) roomFor(ctx context.Context, tx *sqldb.Tx, receiver string, now int64, limit int) (int, error) {
	var inFlight int
	_, err := tx.First(ctx, []any{&inFlight}, "SELECT COUNT(*) FROM withdrawal WHERE receiver = ? AND try_ends > ? "+
		"AND try_ends <= ?", receiver, now, now+(LongestWait+waitSlack).Milliseconds())
	return max(0, min(limit, s.pace.InFlight-inFlight)), err
}

// begin gives each leased try its turn.
func (s *Withdrawals) begin(ctx context.Context, tx *sqldb.Tx, receiver string, t turns, taken []Withdrawal) error {
	if s.pace == (ReceiverLimits{}) || len(taken) == 0 {
		return nil
	}
	for i := range taken {
		taken[i].NotBefore = (t.first + int64(i)*t.step) / 1000
	}
	if s.pace.Rate == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, "UPDATE provider_pace SET next_turn = ? WHERE receiver = ?",
		t.first+int64(len(taken))*t.step, receiver)
	return err
}

// end makes room for another try after this one.
func (s *Withdrawals) end(ctx context.Context, tx *sqldb.Tx, w Withdrawal) error {
	if s.pace.InFlight == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, "UPDATE withdrawal SET try_ends = 0 WHERE id = ? AND try_ends = ?", w.ID, w.NextAt)
	return err
}
