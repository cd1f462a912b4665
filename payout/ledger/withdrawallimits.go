package ledger

import (
	"context"
	"fmt"
	"time"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// PlayerLimits bounds a player's withdrawals. The zero value limits nothing.
type PlayerLimits struct {
	Least    rain.Money // the minimum of one withdrawal
	PerDay   rain.Money // in 24 hours, without returned ones; 0 = no limit
	PerHour  int        // withdrawals in an hour; 0 = no limit
	NoGuests bool       // players with a generated name may not withdraw
}

// Limit names one of the PlayerLimits.
type Limit string

// The limits.
const (
	LimitLeast  Limit = "least"
	LimitDay    Limit = "day"
	LimitHour   Limit = "hour"
	LimitGuests Limit = "guests"
)

// LimitError means that the PlayerLimits refuse a withdrawal. No money has moved.
type LimitError struct {
	Limit Limit
	Money rain.Money    // the minimum, or the daily limit
	Count int           // the hourly limit
	After time.Duration // with LimitHour: until the next one is allowed
}

// Error names the limit.
func (l *LimitError) Error() string {
	switch l.Limit {
	case LimitLeast:
		return fmt.Sprintf("the least that can be withdrawn is %s", l.Money)
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

// checkLimits refuses a new withdrawal over a limit. Its row is written in tx already. The player's balance is
// locked, so no node makes another withdrawal of theirs meanwhile.
func (s *Withdrawals) checkLimits(ctx context.Context, tx *sqldb.Tx, now int64, user string, amount rain.Money) error {
	l := s.limits
	switch {
	case l.NoGuests && rain.IsGuest(user):
		return &LimitError{Limit: LimitGuests}
	case amount < l.Least:
		return &LimitError{Limit: LimitLeast, Money: l.Least}
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
		append(sqldb.Args(failedStates), now-hour, now-hour, user, now-day)...)
	switch {
	case err != nil:
		return err
	case l.PerHour > 0 && count > l.PerHour:
		return &LimitError{Limit: LimitHour, Count: l.PerHour,
			After: time.Duration(oldest+hour-now) * time.Millisecond}
	case l.PerDay > 0 && out > l.PerDay:
		return &LimitError{Limit: LimitDay, Money: l.PerDay}
	}
	return nil
}
