package ledger

// Constants for the tests of this package.
const (
	AnswerKept   = answerKept
	RequestLease = requestLease
	RetryPage    = retryPage
	EachPage     = eachPage
)

// AmountsKept counts the campaigns in the cache of given amounts.
func (s *Campaigns) AmountsKept() int { return len(s.rows.amounts) }
