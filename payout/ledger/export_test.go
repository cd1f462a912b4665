package ledger

import (
	"context"

	"redrain/internal/sqldb"
)

// What the tests of this package reach into.
const (
	AnswerKept   = answerKept
	RequestLease = requestLease
	RetryPage    = retryPage
	EachPage     = eachPage
)

// AmountsKept is of how many campaigns the given amounts are remembered.
func (s *Campaigns) AmountsKept() int { return len(s.rows.amounts) }

// Take leases these withdrawals, as LeaseDue does with those that are due.
func (s *Withdrawals) Take(ctx context.Context, due []Withdrawal, receiver string,
	until int64) ([]Withdrawal, error) {
	return s.take(ctx, receiver, s.clock(), until, len(due),
		func(_ context.Context, _ *sqldb.Tx, n int) ([]Withdrawal, error) { return due[:n], nil })
}
