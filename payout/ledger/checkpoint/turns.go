package checkpoint

import (
	"context"
	"fmt"

	"redrain/internal/sqldb"
)

// turnsRow is the row of proof_reading that has the turns; that of the full proof is 1.
const turnsRow = 2

// Turns is how far the proof of what is recent has come with what it reads in turns, as KeepTurns was given it; "" at
// first.
func Turns(ctx context.Context, q sqldb.Querier) (place string, err error) {
	_, err = q.First(ctx, []any{&place}, "SELECT place FROM proof_reading WHERE id = ?", turnsRow)
	if err != nil {
		return "", fmt.Errorf("what the proof has read in turns: %w", err)
	}
	return place, nil
}

// KeepTurns keeps it.
func KeepTurns(ctx context.Context, db *sqldb.DB, place string, now int64) error {
	columns := []string{"id", "began_at", "spent_ms", "place"}
	err := db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Insert(ctx, "proof_reading", columns, [][]any{{turnsRow, now, 0, place}},
			sqldb.Merge{Key: columns[:1], Set: columns[1:]})
	})
	if err != nil {
		return fmt.Errorf("keeping what the proof has read in turns: %w", err)
	}
	return nil
}
