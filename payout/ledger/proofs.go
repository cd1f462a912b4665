package ledger

import (
	"cmp"
	"context"
	"fmt"
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

var proofColumns = []string{"campaign_id", "proved_at", "took_ms", "balanced", "findings", "difference", "pending"}

// NoteProofs keeps the last proof of each campaign, or of everything.
func (s *Proofs) NoteProofs(ctx context.Context, proofs []Proof) error {
	rows := make([][]any, len(proofs))
	for i, p := range proofs {
		rows[i] = []any{p.Campaign, p.ProvedAt, p.TookMS, p.Balanced, p.Findings, int64(p.Difference), !p.Final}
	}
	err := s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Insert(ctx, "proof", proofColumns, rows, sqldb.Merge{Key: proofColumns[:1], Set: proofColumns[1:]})
	})
	if err != nil {
		return fmt.Errorf("noting what was proved: %w", err)
	}
	return nil
}

// Pending are the ids of the drained campaigns that have had a proof, but no final one.
func (s *Proofs) Pending(ctx context.Context) ([]string, error) {
	ids, err := sqldb.Column[string](ctx, s.db, "SELECT p.campaign_id FROM proof p JOIN campaign c "+
		"ON c.id = p.campaign_id WHERE p.pending = 1 AND c.drained = 1 ORDER BY p.campaign_id")
	if err != nil {
		return nil, fmt.Errorf("looking for drained campaigns that are to be proved: %w", err)
	}
	return ids, nil
}

// LastProofs are the last proofs.
type LastProofs struct {
	Full Proof // of everything
	// of each campaign that is not drained; one that was never proved counts as proved when it was created
	Live []Proof
}

// LastProofs reads when the books were proved last.
func (s *Proofs) LastProofs(ctx context.Context) (last LastProofs, err error) {
	read := func(row sqldb.Scan) (p Proof, err error) {
		var balanced int64
		err = row(&p.Campaign, &p.ProvedAt, &p.TookMS, &balanced, &p.Findings, &p.Difference)
		p.Balanced = balanced == 1
		return p, err
	}
	last.Live, err = sqldb.List(ctx, s.db, read,
		"SELECT c.id, COALESCE(p.proved_at, c.created_at), COALESCE(p.took_ms, 0), "+
			"COALESCE(p.balanced, 0), COALESCE(p.findings, 0), COALESCE(p.difference, 0) FROM campaign c "+
			"LEFT JOIN proof p ON p.campaign_id = c.id WHERE "+undrained)
	slices.SortFunc(last.Live, func(a, b Proof) int { return cmp.Compare(a.Campaign, b.Campaign) })
	if err == nil {
		err = s.db.Each(ctx, func(row sqldb.Scan) error {
			p, err := read(row)
			last.Full = p
			return err
		}, "SELECT campaign_id, proved_at, took_ms, balanced, findings, difference "+
			"FROM proof WHERE campaign_id = ''")
	}
	if err != nil {
		return LastProofs{}, fmt.Errorf("reading when the books were proved: %w", err)
	}
	return last, nil
}
