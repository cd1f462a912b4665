package ledger

import (
	"cmp"
	"context"
	"slices"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// Proofs stores the times of the last reconciliations, so that every node can report them and raise the alarm if they
// stop. Package reconcile does not write to the ledger.
type Proofs struct{ db *sqldb.DB }

// Proof is the last reconciliation of a campaign, or of everything.
type Proof struct {
	Campaign   string     `json:"campaign,omitempty"` // "" = everything
	ProvedAt   int64      `json:"proved_at"`          // Unix ms; 0: never
	TookMS     int64      `json:"took_ms"`
	Balanced   bool       `json:"balanced"`
	Findings   int        `json:"findings"`
	Difference rain.Money `json:"difference"`
	Final      bool       `json:"-"` // every row of a drained campaign was read without a finding
}

var proofTable = sqldb.NewTable("proof", func(p *Proof) []any {
	return []any{"campaign_id", &p.Campaign, "proved_at", &p.ProvedAt, "took_ms", &p.TookMS,
		"balanced", flag(&p.Balanced, 1), "findings", &p.Findings, "difference", &p.Difference,
		"pending", flag(&p.Final, 0)}
})

// flag maps a column with 0 or 1 to a boolean. Any other number counts as false.
func flag(is *bool, set int64) any {
	return sqldb.Via(func() int64 {
		if *is {
			return set
		}
		return 1 - set
	}, func(n int64) error {
		*is = n == set
		return nil
	})
}

// NoteProofs stores the last reconciliation of each campaign, or of everything.
func (s *Proofs) NoteProofs(ctx context.Context, proofs []Proof) error {
	columns := proofTable.Columns()
	err := s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		return proofTable.Insert(ctx, tx, sqldb.Merge{Key: columns[:1], Set: columns[1:]}, proofs...)
	})
	return sqldb.Wrap(err, "store reconciliations")
}

// Pending returns the drained campaigns without a final reconciliation.
func (s *Proofs) Pending(ctx context.Context) ([]string, error) {
	ids, err := sqldb.Column[string](ctx, s.db, "SELECT p.campaign_id FROM proof p JOIN campaign c "+
		"ON c.id = p.campaign_id WHERE p.pending = 1 AND c.drained = 1 ORDER BY p.campaign_id")
	return ids, sqldb.Wrap(err, "find drained campaigns without a final reconciliation")
}

// LastProofs are the last reconciliations.
type LastProofs struct {
	Full Proof // of everything
	// Live has each campaign that is not drained. A campaign that was never reconciled has the time of its creation.
	Live []Proof
}

// LastProofs reads the last reconciliations.
func (s *Proofs) LastProofs(ctx context.Context) (last LastProofs, err error) {
	last.Live, err = sqldb.List(ctx, s.db, proofTable.Scan,
		"SELECT c.id, COALESCE(p.proved_at, c.created_at), COALESCE(p.took_ms, 0), "+
			"COALESCE(p.balanced, 0), COALESCE(p.findings, 0), COALESCE(p.difference, 0), COALESCE(p.pending, 1) "+
			"FROM campaign c LEFT JOIN proof p ON p.campaign_id = c.id WHERE "+undrained)
	slices.SortFunc(last.Live, func(a, b Proof) int { return cmp.Compare(a.Campaign, b.Campaign) })
	if err == nil {
		last.Full, _, err = proofTable.Find(ctx, s.db, "WHERE campaign_id = ''")
	}
	return last, sqldb.Wrap(err, "read the last reconciliations")
}
