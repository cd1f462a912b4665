package ledger

// Constants for the tests of this package.
const (
	AnswerKept   = answerKept
	RequestLease = requestLease
	RetryPage    = retryPage
	EachPage     = eachPage
)

// AmountsKept counts the campaigns in the cache of given amounts.
func (s *Campaigns) AmountsKept() (n int) {
	s.rows.amounts.Range(func(any, any) bool { n++; return true })
	return n
}
