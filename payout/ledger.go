package payout

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// Errors of the ledger. What a database says is wrapped as it is.
var (
	ErrInvalidAmount     = errors.New("an amount is 1 minor unit to rain.MaxBudget")
	ErrInvalidReference  = errors.New("a reference is 1 to 200 bytes")
	ErrReferenceReused   = errors.New("the reference was used for another amount")
	ErrUnknownSponsor    = errors.New("no such sponsor")
	ErrInsufficientFunds = errors.New("the account holds less than that")
	ErrCampaignExists    = errors.New("a campaign with this id exists")
	ErrUnknownCampaign   = errors.New("no such campaign")
	ErrCampaignStocked   = errors.New("the campaign has been stocked, so it can be closed but not abandoned")
	ErrRebuildSuperseded = errors.New("another rebuild of the shard has begun")
	ErrImmutable         = errors.New("what a campaign was created with does not change")
	// of a change given to Update: no error, and nothing to audit
	ErrUnchanged          = errors.New("the same was done before")
	ErrUnknownClaim       = errors.New("no dead letter for this claim")
	ErrStillDead          = errors.New("the dead letter still cannot be posted")
	ErrBadCursor          = errors.New("the cursor is not one that a list has given")
	ErrIdempotencyBusy    = errors.New("a request with this idempotency key is being worked on")
	ErrIdempotencyUnequal = errors.New("the idempotency key was used with another body")
)

// Ledger is the double-entry ledger, the campaigns it funds, and what operators did. It is safe for concurrent use,
// here and by any number of processes on one database.
type Ledger struct {
	db    *sqldb.DB
	clock rain.Clock
	gauge ledgerGauges
	hands turnstile

	stretch int // how many rows one statement of a reconciliation adds up

	mu        sync.Mutex
	amounts   map[string][]rain.Money // given amounts of live campaigns: they never change and may be millions
	nextPrune int64                   // when expired idempotency keys are removed again

	splits struct {
		mu   sync.Mutex
		sums map[string][]rain.Money // by campaign: what each shard was given
	}
}

// sumAtOnce is how many rows one statement adds up, so that none takes longer than a connection waits for its answer.
const sumAtOnce = 250_000

// NewLedger makes a ledger of a migrated database. clock gives the times that are written to it.
func NewLedger(db *sqldb.DB, clock rain.Clock) *Ledger {
	l := &Ledger{db: db, clock: clock, gauge: newLedgerGauges(), amounts: map[string][]rain.Money{}, stretch: sumAtOnce}
	l.splits.sums = map[string][]rain.Money{}
	return l
}

// Register adds the ledger's metrics: redrain_reconcile_difference and redrain_dead_letters.
func (l *Ledger) Register(r prometheus.Registerer) error { return l.gauge.register(r) }
