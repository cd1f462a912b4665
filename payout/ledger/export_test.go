package ledger

// What the tests of this package reach into.
const (
	AnswerKept   = answerKept
	RequestLease = requestLease
	RetryPage    = retryPage
	EachPage     = eachPage
)

// AmountsKept is of how many campaigns the given amounts are remembered.
func (s *Campaigns) AmountsKept() int { return len(s.rows.amounts) }
