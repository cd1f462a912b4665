package history

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
)

// ErrTampered says that a row was changed behind the ledger's back, which therefore does nothing with it.
var ErrTampered = errors.New("a row is not what its history says, so somebody has changed it in the database; " +
	"redrain reconcile names it")

// Whole are those of some things that are what their histories say, by lines that were chained, in their order; also
// those that there have never been. Whoever changes a thing asks before, and notes nothing about one that is not whole:
// it would be whole again, with whatever somebody has changed by hand, before a proof has named it.
func Whole(ctx context.Context, q sqldb.Querier, kind Kind, ids ...string) (whole []string, err error) {
	for some := range slices.Chunk(ids, sqldb.Chunk) {
		is, err := Digests(ctx, q, kind, some)
		if err != nil {
			return nil, fmt.Errorf("the rows of a %s: %w", kind, err)
		}
		was, err := Newest(ctx, q, kind, some)
		if err != nil {
			return nil, fmt.Errorf("the histories of a %s: %w", kind, err)
		}
		for _, id := range some {
			if is[id] == was[id].Digest && !was[id].Loose {
				whole = append(whole, id)
			}
		}
	}
	return whole, nil
}

// Check fails with ErrTampered unless all of some things are whole. Their rows must be locked: another's change
// might be read half.
func Check(ctx context.Context, tx *sqldb.Tx, kind Kind, ids ...string) error {
	whole, err := Whole(ctx, tx, kind, ids...)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !slices.Contains(whole, id) {
			return fmt.Errorf("%s %s: %w", kind, id, ErrTampered)
		}
	}
	return nil
}
