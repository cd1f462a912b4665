package ledger

import (
	"cmp"
	"context"
	"slices"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// Proofs is when the books were proved last: so that every node can say so, and raise the alarm when nobody proves them
// any more. Package reconcile proves, and writes nothing.
type Proofs struct{ db *sqldb.DB }

// Proof is the last proof of a campaign, or of everything.
type Proof struct {
	Campaign   string     `json:"campaign,omitempty"` // "": everything
	ProvedAt   int64      `json:"proved_at"`          // Unix ms, when it was done; 0: never
	TookMS     int64      `json:"took_ms"`
	Balanced   bool       `json:"balanced"`
	Findings   int        `json:"findings"`
	Difference rain.Money `json:"difference"`
	Final      bool       `json:"-"` // every row of a drained campaign was read, and all is well
}

var proofTable = sqldb.NewTable("proof", func(p *Proof) []any {
	return []any{"campaign_id", &p.Campaign, "proved_at", &p.ProvedAt, "took_ms", &p.TookMS,
		"balanced", flag(&p.Balanced, 1), "findings", &p.Findings, "difference", &p.Difference,
		"pending", flag(&p.Final, 0)}
})

// flag maps a column that is 0 or 1 to whether it is set. Every other number, which only a person can have written,
// means that it is not.
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

// NoteProofs keeps the last proof of each campaign, or of everything.
func (s *Proofs) NoteProofs(ctx context.Context, proofs []Proof) error {
	columns := proofTable.Columns()
	err := s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		return proofTable.Insert(ctx, tx, sqldb.Merge{Key: columns[:1], Set: columns[1:]}, proofs...)
	})
	return sqldb.Wrap(err, "noting what was proved")
}

// Pending are the ids of the drained campaigns that have had a proof, but no final one.
func (s *Proofs) Pending(ctx context.Context) ([]string, error) {
	ids, err := sqldb.Column[string](ctx, s.db, "SELECT p.campaign_id FROM proof p JOIN campaign c "+
		"ON c.id = p.campaign_id WHERE p.pending = 1 AND c.drained = 1 ORDER BY p.campaign_id")
	return ids, sqldb.Wrap(err, "looking for drained campaigns that are to be proved")
}

// LastProofs are the last proofs.
type LastProofs struct {
	Full Proof // of everything
	// of each campaign that is not drained; one that was never proved counts as proved when it was created
	Live []Proof
}

// LastProofs reads when the books were proved last.
func (s *Proofs) LastProofs(ctx context.Context) (last LastProofs, err error) {
	last.Live, err = sqldb.List(ctx, s.db, proofTable.Scan,
		"SELECT c.id, COALESCE(p.proved_at, c.created_at), COALESCE(p.took_ms, 0), "+
			"COALESCE(p.balanced, 0), COALESCE(p.findings, 0), COALESCE(p.difference, 0), COALESCE(p.pending, 1) "+
			"FROM campaign c LEFT JOIN proof p ON p.campaign_id = c.id WHERE "+undrained)
	slices.SortFunc(last.Live, func(a, b Proof) int { return cmp.Compare(a.Campaign, b.Campaign) })
	if err == nil {
		last.Full, _, err = proofTable.Find(ctx, s.db, "WHERE campaign_id = ''")
	}
	return last, sqldb.Wrap(err, "reading when the books were proved")
}
