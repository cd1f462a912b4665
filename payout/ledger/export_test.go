package ledger

import "context"

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
	taken, _, err := s.take(ctx, due, receiver, s.clock(), until)
	return taken, err
}
