package ledger

import (
	"context"
	"fmt"
	"time"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// PlayerLimits bounds a player's withdrawals. The zero value limits nothing.
type PlayerLimits struct {
	Least    rain.Money  // the minimum of one withdrawal
	Most     rain.Money  // the maximum of one withdrawal; 0 = no limit
	PerDay   rain.Money  // of a player, and of a payee, in 24 hours, without refused or returned ones; 0 = no limit
	PerHour  int         // withdrawals in an hour; 0 = no limit
	NoGuests bool        // players with a generated name may not withdraw
	Review   *rain.Money // withdrawals above it are held for a person; nil = none
}

// Limit names one of the PlayerLimits.
type Limit string

// The limits.
const (
	LimitLeast  Limit = "least"
	LimitMost   Limit = "most"
	LimitDay    Limit = "day"
	LimitPayee  Limit = "payee" // LimitDay of the payee, over all players who share it
	LimitHour   Limit = "hour"
	LimitGuests Limit = "guests"
)

// LimitError means that the PlayerLimits refuse a withdrawal. No money has moved.
type LimitError struct {
	Limit Limit
	Money rain.Money    // the minimum, the maximum, or the daily limit
	Count int           // the hourly limit
	After time.Duration // with LimitHour: until the next one is allowed
}

// Error names the limit.
func (l *LimitError) Error() string {
	switch l.Limit {
	case LimitLeast:
		return fmt.Sprintf("the least that can be withdrawn is %s", l.Money)
	case LimitMost:
		return fmt.Sprintf("the most that can be withdrawn at once is %s", l.Money)
	case LimitPayee:
		return fmt.Sprintf("at most %s can be withdrawn to one account in 24 hours", l.Money)
	case LimitDay:
		return fmt.Sprintf("at most %s can be withdrawn in 24 hours", l.Money)
	case LimitHour:
		return fmt.Sprintf("at most %d withdrawals are taken in an hour", l.Count)
	}
	return "guests cannot withdraw; sign in with the organizer's own account"
}

// Within returns the same withdrawals with limits for players. Existing withdrawals are not affected.
func (s *Withdrawals) Within(l PlayerLimits) *Withdrawals {
	limited := *s
	limited.limits = l
	return &limited
}

const (
	hour = int64(time.Hour / time.Millisecond)
	day  = 24 * hour
)

// review holds a new withdrawal above the limit of Review. A withdrawal that another system holds stays as it is.
func (s *Withdrawals) review(how entering, amount rain.Money) entering {
	if r := s.limits.Review; r != nil && amount > *r && how.heldBy == "" && !how.late {
		how.heldBy, how.why = byRedrain, fmt.Sprintf("it is above %s, so a person has to release it", *r)
	}
	return how
}

// checkLimits refuses a new withdrawal over a limit. Its row is written in tx already. The player's balance is
// locked, so no node makes another withdrawal of theirs meanwhile.
func (s *Withdrawals) checkLimits(ctx context.Context, tx *sqldb.Tx, now int64, w Withdrawal) error {
	l := s.limits
	switch {
	case l.NoGuests && rain.IsGuest(w.User):
		return &LimitError{Limit: LimitGuests}
	case w.Amount < l.Least:
		return &LimitError{Limit: LimitLeast, Money: l.Least}
	case l.Most > 0 && w.Amount > l.Most:
		return &LimitError{Limit: LimitMost, Money: l.Most}
	case l.PerDay == 0 && l.PerHour == 0:
		return nil
	}
	var out rain.Money
	var count int
	var oldest int64
	_, err := tx.First(ctx, []any{&out, &count, &oldest}, "SELECT "+
		"COALESCE(SUM(CASE WHEN state IN "+sqldb.Marks(len(failedStates))+" THEN 0 ELSE amount END), 0), "+
		"COALESCE(SUM(CASE WHEN created_at > ? THEN 1 ELSE 0 END), 0), "+
		"COALESCE(MIN(CASE WHEN created_at > ? THEN created_at END), 0) "+
		"FROM withdrawal WHERE user_id = ? AND created_at > ?",
		append(sqldb.Args(failedStates), now-hour, now-hour, w.User, now-day)...)
	switch {
	case err != nil:
		return err
	case l.PerHour > 0 && count > l.PerHour:
		return &LimitError{Limit: LimitHour, Count: l.PerHour,
			After: time.Duration(oldest+hour-now) * time.Millisecond}
	case l.PerDay > 0 && out > l.PerDay:
		return &LimitError{Limit: LimitDay, Money: l.PerDay}
	}
	return s.checkPayeeLimit(ctx, tx, now, w)
}

// checkPayeeLimit applies PerDay to the payee, which several players may share. It locks the payee until tx ends.
func (s *Withdrawals) checkPayeeLimit(ctx context.Context, tx *sqldb.Tx, now int64, w Withdrawal) error {
	if s.limits.PerDay == 0 || w.Payee == "" {
		return nil
	}
	if err := lockPayee(ctx, tx, w.Payee); err != nil {
		return err
	}
	var out rain.Money
	_, err := tx.First(ctx, []any{&out}, "SELECT COALESCE(SUM(amount), 0) FROM withdrawal WHERE payee = ? "+
		"AND created_at > ? AND state NOT IN "+sqldb.Marks(len(failedStates)),
		append([]any{w.Payee, now - day}, sqldb.Args(failedStates)...)...)
	if err == nil && out > s.limits.PerDay {
		err = &LimitError{Limit: LimitPayee, Money: s.limits.PerDay}
	}
	return err
}

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

// A try is leased at most this long before its turn. So a payer that polls once a second can use every turn.
const ahead = time.Second

// LongestTurn is the limit for a receiver's next turn: that of the slowest rate, after one that was leased ahead. A
// next turn later than this is wrong, and is ignored.
const LongestTurn = 2 * time.Minute

// turns are the times at which tries may begin, in µs, one step apart. All nodes lease under the receiver's lock.
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

// assignTurns gives each leased try its turn.
func (s *Withdrawals) assignTurns(ctx context.Context, tx *sqldb.Tx, receiver string, t turns,
	taken []Withdrawal) error {
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

// freeSlot makes room for another try after this one.
func (s *Withdrawals) freeSlot(ctx context.Context, tx *sqldb.Tx, w Withdrawal) error {
	if s.pace.InFlight == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, "UPDATE withdrawal SET try_ends = 0 WHERE id = ? AND try_ends = ?", w.ID, w.NextAt)
	return err
}
