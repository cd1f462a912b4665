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

// Dismissed is what has become of the dead letters of a claim that a person says is nobody's.
type Dismissed struct {
	Letters   int        // that do not wait any more
	Reclaimed rain.Money // what they held, and went back to the sponsor
	Kept      []string   // why others of the claim were not dismissed
}

// ErrNotDismissed says that a dead letter may be somebody's, and why.
var ErrNotDismissed = errors.New("the dead letter is not dismissed")

// stateDismissed is a dead letter's in the audit log.
const stateDismissed ClaimState = "dismissed"

// dismissLetters ends some letters of a claim, because a person has looked and says that they are nobody's. Each is
// dismissed in a transaction of its own, and what it held goes back to the sponsor; see
// [posting.Poster.DismissLetter] for what is refused. It fails with ErrNotDismissed where none was dismissed.
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

// dismissLetter dismisses one letter, and adds to sum what has become of it. Of one that waits no more it says nothing.
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
		return fmt.Errorf("dismissing dead letter %d: %w", id, err)
	}
	if found {
		sum.Letters++
		sum.Reclaimed += given
	}
	return nil
}
