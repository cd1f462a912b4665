package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// Errors of the ledger. What a database says is wrapped as it is.
var (
	ErrInvalidAmount    = errors.New("an amount is 1 minor unit to rain.MaxBudget")
	ErrInvalidReference = errors.New("a reference is 1 to 200 bytes")
	ErrReferenceReused  = errors.New("the reference was used for another amount")
	ErrUnknownSponsor   = errors.New("no such sponsor")
	ErrCampaignExists   = errors.New("a campaign with this id exists")
	ErrCampaignStocked  = errors.New("the campaign has been stocked, so it can be closed but not abandoned")
	ErrImmutable        = errors.New("what a campaign was created with does not change")
	// ErrUnchanged is returned by a change given to Update: nothing is written nor audited, and Update succeeds.
	ErrUnchanged          = errors.New("the same was done before")
	ErrUnknownClaim       = errors.New("no dead letter for this claim")
	ErrStillDead          = errors.New("the dead letter still cannot be posted")
	ErrBadCursor          = errors.New("the cursor is not one that a list has given")
	ErrIdempotencyBusy    = errors.New("a request with this idempotency key is being worked on")
	ErrIdempotencyUnequal = errors.New("the idempotency key was used with another body")
)

// viewLimit is how long a view of a few rows may take.
const viewLimit = 5 * time.Second

// Ledger is everything that is kept in the ledger's database. It is safe for concurrent use, here and by any number of
// processes on one database.
type Ledger struct {
	*posting.Poster
	*posting.Rebuilds
	*DeadLetters
	*Campaigns
	*Sponsors
	*Claims
	*Withdrawals
	*AuditLog
	*Leases
	*Idempotency
}

// New makes a ledger of a migrated database. clock gives the times that are written to it.
func New(db *sqldb.DB, clock rain.Clock) *Ledger {
	rows := &campaignRows{amounts: map[string][]rain.Money{}}
	poster := posting.NewPoster(db, clock, rows)
	withdrawals := &Withdrawals{db: db, clock: clock}
	return &Ledger{
		Poster:      poster,
		Rebuilds:    posting.NewRebuilds(db, clock),
		DeadLetters: newDeadLetters(db, clock, poster, withdrawals),
		Campaigns:   &Campaigns{db: db, clock: clock, rows: rows, poster: poster},
		Sponsors:    &Sponsors{db: db, clock: clock},
		Claims:      &Claims{db: db},
		Withdrawals: withdrawals,
		AuditLog:    &AuditLog{db: db, clock: clock},
		Leases:      &Leases{db: db, clock: clock},
		Idempotency: &Idempotency{db: db, clock: clock},
	}
}

// Exec runs one statement in a transaction of its own.
func Exec(ctx context.Context, db *sqldb.DB, what, statement string, args ...any) error {
	err := db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, statement, args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
