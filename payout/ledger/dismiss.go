package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// Dismissed is the result of dismissing the dead letters of a claim.
type Dismissed struct {
	Letters   int        // dismissed ones
	Reclaimed rain.Money // money that returned to the sponsor
	Kept      []string   // the reasons why others of the claim were not dismissed
}

// ErrNotDismissed means that a dead letter may still be payable. The wrapping error says why.
var ErrNotDismissed = errors.New("the dead letter is not dismissed")

// stateDismissed is the state of a dismissed dead letter in the audit log.
const stateDismissed ClaimState = "dismissed"

// dismissLetters dismisses dead letters of a claim, each in its own transaction. Their money returns to the sponsor.
// [posting.Poster.DismissLetter] says which are refused. It fails with ErrNotDismissed if none was dismissed.
func (s *DeadLetters) dismissLetters(ctx context.Context, claim string, ids []int64,
	why string) (d Dismissed, err error) {
	for _, id := range ids {
		if err := s.dismissLetter(ctx, id, why, &d); err != nil {
			return d, err
		}
	}
	switch {
	case d.Letters > 0:
		return d, nil
	case len(d.Kept) > 0:
		return d, fmt.Errorf("%q: %w: %s", claim, ErrNotDismissed, strings.Join(d.Kept, "; "))
	default:
		return d, fmt.Errorf("%q: %w", claim, ErrUnknownClaim)
	}
}

// dismissLetter dismisses one dead letter, and adds the result to sum. It ignores one that is not open.
func (s *DeadLetters) dismissLetter(ctx context.Context, id int64, why string, sum *Dismissed) error {
	var found bool
	var given rain.Money
	err := s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		d, waits, err := posting.LetterTable.Find(ctx, tx, "WHERE id = ? AND resolved_at = 0"+tx.ForUpdate(), id)
		if found = waits; err != nil || !found {
			return err
		}
		if given, err = s.poster.DismissLetter(ctx, tx, d, why); err != nil {
			return err
		}
		is := letterState(d, stateDismissed)
		is.state["reclaimed"] = given
		return auditChange(ctx, tx, s.clock(), letterState(d, StateDead), is)
	})
	if refusal, ok := errors.AsType[posting.NotDismissedError](err); ok {
		sum.Kept = append(sum.Kept, string(refusal))
		return nil
	}
	if err != nil {
		return fmt.Errorf("dismiss dead letter %d: %w", id, err)
	}
	if found {
		sum.Letters++
		sum.Reclaimed += given
	}
	return nil
}
