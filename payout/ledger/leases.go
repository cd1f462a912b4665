package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// Leases let one node at a time do a piece of work.
type Leases struct {
	db    *sqldb.DB
	clock rain.Clock
}

// Lease takes the lease of a name for holder, or renews it, until ttl from the call (not from its return). held is
// false as long as another holder has it; that lease ends when its holder releases it or does not renew it in time.
// A name is at most 64 bytes, a holder at most 128.
//
// Time is the ledger's clock. Nodes' clocks may differ by a quarter of a second, and a holder that is frozen does
// not notice that its time is up: a lease saves work and is no lock. What is done under it must be safe to be done
// twice.
func (s *Leases) Lease(ctx context.Context, name, holder string, ttl time.Duration) (held bool, err error) {
	var until int64
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		held = false
		now := s.clock()
		until = now + ttl.Milliseconds()
		n, err := tx.Exec(ctx, "UPDATE lease SET holder = ?, expires_at = ? WHERE name = ? AND (holder = ? "+
			"OR expires_at <= ?)",
			holder, until, name, holder, now)
		if err != nil || n > 0 {
			held = err == nil
			return err
		}
		var other string
		if exists, err := tx.First(ctx, []any{&other}, "SELECT holder FROM lease WHERE name = ?", name); err != nil ||
			exists {
			return err
		}
		err = tx.Insert(ctx, "lease", []string{"name", "holder", "expires_at"}, [][]any{{name, holder, until}},
			sqldb.Merge{})
		if sqldb.IsDuplicate(err) {
			return errLeaseTaken // another was faster, at this very moment
		}
		held = err == nil
		return err
	})
	if errors.Is(err, errLeaseTaken) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lease of %s: %w", name, err)
	}
	return held && s.clock() < until, nil // it may be over already, where the database was slow
}

var errLeaseTaken = errors.New("another holder has the lease")

// ReleaseLease gives a lease back before its time. It does nothing where holder does not have it.
func (s *Leases) ReleaseLease(ctx context.Context, name, holder string) error {
	_, err := s.db.Exec(ctx, "DELETE FROM lease WHERE name = ? AND holder = ?", name, holder)
	if err != nil {
		return fmt.Errorf("lease of %s: %w", name, err)
	}
	return nil
}
