package risk

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"

	"redrain/internal/signed"
	"redrain/payout/ledger"
	"redrain/payout/ledger/standing"
)

// The limits of an answer. Reasons within them fit into a row of the ledger.
const (
	maxAnswer  = 8 << 10 // bytes
	maxReasons = 8
	maxReason  = 200 // bytes
	maxScore   = 1_000_000
)

// Answer is the system's verdict on a player.
type Answer struct {
	Verdict standing.VerdictAct `json:"verdict"`
	Score   int                 `json:"score"`
	Reasons []string            `json:"reasons"`
}

// errInvalid means that an answer cannot be used.
var errInvalid = errors.New("invalid answer")

// readAnswer parses an HTTP answer: 200, JSON, one object with a verdict. It rejects others: a proxy's page, a
// redirect, the answer of a system that is still starting.
func readAnswer(a signed.Answer) (said Answer, err error) {
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	switch {
	case a.Status != http.StatusOK:
		return said, fmt.Errorf("%w: status %d, not 200", errInvalid, a.Status)
	case kind != "application/json":
		return said, fmt.Errorf("%w: it is %.40q, not application/json", errInvalid, kind)
	case len(a.Body) > maxAnswer:
		return said, fmt.Errorf("%w: it is longer than %d bytes", errInvalid, maxAnswer)
	}
	if err := json.Unmarshal(a.Body, &said); err != nil {
		return Answer{}, fmt.Errorf("%w: %w", errInvalid, err)
	}
	if err := said.check(); err != nil {
		return Answer{}, err
	}
	return said, nil
}

func (a Answer) check() error {
	switch a.Verdict {
	case standing.Allow, standing.Hold, standing.Deny:
	default:
		return fmt.Errorf("%w: the verdict is %.20q, not allow, hold or deny", errInvalid, string(a.Verdict))
	}
	if a.Score < 0 || a.Score > maxScore {
		return fmt.Errorf("%w: the score is %d, not 0 to %d", errInvalid, a.Score, maxScore)
	}
	if len(a.Reasons) > maxReasons {
		return fmt.Errorf("%w: %d reasons, more than %d", errInvalid, len(a.Reasons), maxReasons)
	}
	for i, r := range a.Reasons {
		if r == "" || ledger.Storable(r, maxReason) != r {
			return fmt.Errorf("%w: reason %d is not 1 to %d bytes of plain text", errInvalid, i+1, maxReason)
		}
	}
	return nil
}

// Reasons against a player, named like rules.
const (
	RuleSystem   = "risk_url"  // the system's verdict
	RuleNoAnswer = "no_answer" // no answer, and --risk-default is hold
)

// verdictOn returns the answer as a verdict about a player, followed by the findings of the rules.
func (a Answer) verdictOn(user string, rules *Opinion) standing.Verdict {
	said := a.Reasons
	if len(said) == 0 {
		said = []string{"it gave no reason"}
	}
	reasons := make([]standing.Reason, 0, len(said))
	for _, sentence := range said {
		reasons = append(reasons, standing.Reason{Rule: RuleSystem, Sentence: sentence})
	}
	reasons[0].Score = a.Score
	score := a.Score
	if rules != nil {
		reasons = append(reasons, rules.Reasons...)
		score = max(score, rules.Score)
	}
	return standing.Verdict{User: user, Act: a.Verdict, Score: score, Reasons: standing.EncodeReasons(reasons)}
}
