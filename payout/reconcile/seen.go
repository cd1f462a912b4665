package reconcile

import (
	"context"

	"redrain/internal/sqldb"
)

// checkSeen looks for ends of chains that this process has seen before and that are not there any more. It is done as
// of one moment, so that what somebody adds meanwhile is not missing.
func (s *Reconciler) checkSeen(ctx context.Context, found *findings) error {
	return s.db.View(ctx, viewLimit, func(ctx context.Context, tx *sqldb.Tx) error {
		return s.seen.Check(ctx, tx, func(fault string) { found.add("a chain that was longer", fault, "%s", fault) })
	})
}
