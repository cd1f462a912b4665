package ledger

import (
	"context"
	"fmt"
	"time"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
)

// ReceiverLimits are how much is asked of one receiver, by all nodes together, which are given the same. The zero value
// limits nothing and costs nothing.
type ReceiverLimits struct {
	Rate     float64 // tries begun in a second, evenly spaced, one in 100 s at least; 0 = no limit
	InFlight int     // tries at once; 0 = no limit
}

// Paced are the same withdrawals for payers that are held to limits.
func (s *Withdrawals) Paced(l ReceiverLimits) *Withdrawals {
	paced := *s
	paced.pace = l
	return &paced
}

// ahead is how far in the future a try may be leased, so that a payer which looks once a second can use every turn.
const ahead = time.Second

// LongestTurn is how far ahead a receiver's next turn may lie: that of the slowest rate, after one that was leased
// ahead. A later one was dated by hand or by a wrong clock, and keeps nobody from the receiver.
const LongestTurn = 2 * time.Minute

// turns are the tries that may begin, in microseconds: each one step after the one before. They are given out under a
// lock of the receiver's row, which all nodes that lease for it take in turn.
type turns struct {
	first, step int64
	count       int
}

// lockReceiver locks a receiver's row until the transaction ends, and tells when its next turn is.
func lockReceiver(ctx context.Context, tx *sqldb.Tx, receiver string) (next int64, err error) {
	found, err := tx.First(ctx, []any{&next}, "SELECT next_turn FROM provider_pace WHERE receiver = ?"+tx.ForUpdate(),
		receiver)
	if err != nil {
		return 0, fmt.Errorf("the pace of %s: %w", receiver, err)
	}
	if !found {
		row := [][]any{{receiver, 0}}
		err = booking.AgainIfDuplicate(tx.Insert(ctx, "provider_pace", []string{"receiver", "next_turn"}, row,
			sqldb.Merge{}))
	}
	return next, err
}

// takeTurns locks a receiver's row and tells how many of up to limit tries may begin, and when.
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

// roomFor is how many more tries may be in flight. A try whose node has died counts until its lease ends, and not
// at all where that ends later than any does.
func (s *Withdrawals) roomFor(ctx context.Context, tx *sqldb.Tx, receiver string, now int64, limit int) (int, error) {
	var inFlight int
	_, err := tx.First(ctx, []any{&inFlight}, "SELECT COUNT(*) FROM withdrawal WHERE receiver = ? AND try_ends > ? "+
		"AND try_ends <= ?", receiver, now, now+(LongestWait+waitSlack).Milliseconds())
	return max(0, min(limit, s.pace.InFlight-inFlight)), err
}

// begin gives each of the tries that were leased with the turns its time.
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

// end makes room for another try, now that this one has ended.
func (s *Withdrawals) end(ctx context.Context, tx *sqldb.Tx, w Withdrawal) error {
	if s.pace.InFlight == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, "UPDATE withdrawal SET try_ends = 0 WHERE id = ? AND try_ends = ?", w.ID, w.NextAt)
	return err
}
