package ledger

import (
	"errors"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/chain"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// Ledger has the parts of the ledger's database. Each is safe for concurrent use, also by several processes.
type Ledger struct {
	Poster      *posting.Poster
	Rebuilds    *posting.Rebuilds
	DeadLetters *DeadLetters
	Approvals   *Approvals
	Campaigns   *Campaigns
	Sponsors    *Sponsors
	Claims      *Claims
	Withdrawals *Withdrawals
	Payees      *Payees
	Audit       *AuditLog
	Leases      *Leases
	Answers     *Answers
	Seals       *posting.Seals
	Moves       *posting.Moves
	Proofs      *Proofs
	Roots       *chain.Roots
	Restores    *Restores
	Statements  *Statements
	Sanctions   *Sanctions
	Risk        *Risk
	Lists       *Lists
	Players     *Players
}

// New makes a ledger of a migrated database. clock gives the times that are written to it. amounts caches campaigns'
// amounts, shared with the rest of the process. Load the seals before the first posting.
func New(db *sqldb.DB, clock rain.Clock, amounts *rain.AmountsCache) *Ledger {
	rows := &campaignRows{}
	seals := posting.NewSeals(db, clock)
	poster := posting.NewPoster(db, clock, rows, amounts, seals)
	withdrawals := &Withdrawals{db: db, clock: clock}
	letters := newDeadLetters(db, clock, poster, withdrawals)
	sponsors := &Sponsors{db: db, clock: clock}
	return &Ledger{
		Poster:      poster,
		Rebuilds:    posting.NewRebuilds(db, clock, amounts),
		DeadLetters: letters,
		Approvals:   &Approvals{db: db, clock: clock, sponsors: sponsors, letters: letters, withdrawals: withdrawals},
		Campaigns:   &Campaigns{db: db, clock: clock, rows: rows, amounts: amounts, poster: poster},
		Sponsors:    sponsors,
		Claims:      &Claims{db: db},
		Withdrawals: withdrawals,
		Payees:      &Payees{db: db, clock: clock},
		Audit:       &AuditLog{db: db, clock: clock},
		Leases:      &Leases{db: db, clock: clock},
		Answers:     &Answers{db: db, clock: clock},
		Seals:       seals,
		Moves:       posting.NewMoves(db, clock),
		Proofs:      &Proofs{db: db},
		Statements:  &Statements{db: db},
		Sanctions:   &Sanctions{db: db, clock: clock},
		Risk:        &Risk{db: db, clock: clock},
		Lists:       &Lists{db: db, clock: clock},
		Players:     &Players{db: db},
		Roots:       chain.NewRoots(db, clock),
		Restores:    &Restores{db: db, clock: clock, withdrawals: withdrawals},
	}
}

// Errors of the ledger. Errors of the database are wrapped unchanged.
var (
	ErrInvalidAmount     = errors.New("an amount is 1 minor unit to rain.MaxBudget")
	ErrInvalidReference  = errors.New("a reference is 1 to 200 bytes")
	ErrReferenceReused   = errors.New("the reference was used for another amount")
	ErrUnknownSponsor    = errors.New("no such sponsor")
	ErrCampaignExists    = errors.New("a campaign with this id exists")
	ErrCampaignStocked   = errors.New("the campaign has been stocked, so it can be closed but not abandoned")
	ErrUnknownWithdrawal = errors.New("no such withdrawal")
	ErrImmutable         = errors.New("a fixed field of the campaign differs")
	// ErrUnchanged is returned by a change given to Update: Update writes nothing and succeeds.
	ErrUnchanged          = errors.New("the same was done before")
	ErrUnknownClaim       = errors.New("no dead letter for this claim")
	ErrStillDead          = errors.New("the dead letter still cannot be posted")
	ErrBadCursor          = sqldb.ErrBadCursor
	ErrIdempotencyBusy    = errors.New("a request with this idempotency key is in progress")
	ErrIdempotencyUnequal = errors.New("the idempotency key was used with another body")
)

// Storable returns a text as a column can store it: see [sqldb.Storable].
func Storable(text string, most int) string { return sqldb.Storable(text, most) }
