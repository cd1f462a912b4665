package ledger

import (
	"redrain/internal/sqldb"
	"redrain/payout/ledger/chain"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// Ledger is everything that is kept in the ledger's database, part by part. Each part is safe for concurrent use, here
// and by any number of processes on one database.
type Ledger struct {
	Poster      *posting.Poster
	Rebuilds    *posting.Rebuilds
	DeadLetters *DeadLetters
	Approvals   *Approvals
	Campaigns   *Campaigns
	Sponsors    *Sponsors
	Claims      *Claims
	Withdrawals *Withdrawals
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

// New makes a ledger of a migrated database. clock gives the times that are written to it; amounts is what campaigns'
// packets hold, shared with the rest of the process. The seals are to be loaded before anything is posted.
func New(db *sqldb.DB, clock rain.Clock, amounts *rain.AmountsCache) *Ledger {
	rows := &campaignRows{amounts: map[string][]rain.Money{}}
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
