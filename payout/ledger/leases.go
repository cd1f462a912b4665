package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/booking"
	"redrain/rain"
)

// Leases let one node at a time do a piece of work.
type Leases struct {
	db    *sqldb.DB
	clock rain.Clock
}

// Tenure is a holder's state of a lease.
type Tenure struct {
	// Term is the holder's number, which rises at each change of hands. 0: another holder has the lease.
	Term int64
	// Displaced is the previous holder, if its lease was taken over because its end was too far ahead; else "".
	Displaced string
}

// Held reports whether this holder has the lease.
func (t Tenure) Held() bool { return t.Term > 0 }

// LongestLease is the longest duration of a lease. A later end comes from a tampered row or a wrong clock.
const LongestLease = time.Minute

// leaseSlack is an ample bound for the difference of nodes' clocks.
const leaseSlack = time.Second

// ErrLeaseTaken is the error of a write under a lease that another node has taken over.
var ErrLeaseTaken = errors.New("another node has taken over the lease that this was to be done under")

// Lease takes or renews the lease of a name for holder. It lasts for ttl, at most LongestLease, from the call and not
// from its return. If another holder has it, it is not taken: the other one must release it, or not renew it in time.
// A name has at most 64 bytes, a holder at most 128. All holders of a name use the same ttl.
//
// The ledger's clock decides. Nodes' clocks may differ by a quarter of a second, and a frozen holder does not notice
// the end of its lease. So work outside the ledger must be safe to be done twice. Only the present holder writes to
// the ledger: see UnderTerm.
func (s *Leases) Lease(ctx context.Context, name, holder string, ttl time.Duration) (t Tenure, err error) {
	var until int64
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
		now := s.clock()
		until = now + min(ttl, LongestLease).Milliseconds()
		t, err = s.take(ctx, tx, name, holder, now, until)
		return err
	})
	if err != nil {
		return Tenure{}, fmt.Errorf("take lease %s: %w", name, err)
	}
	if s.clock() >= until { // it has ended already: the database was slow
		t.Term = 0
	}
	return t, nil
}

// take is Lease in a transaction. It locks the row only to change it, so unsuccessful callers block no transaction.
func (s *Leases) take(ctx context.Context, tx *sqldb.Tx, name, holder string, now, until int64) (t Tenure, err error) {
	var has string
	var ends, term int64
	exists, err := tx.First(ctx, []any{&has, &ends, &term}, "SELECT holder, expires_at, term FROM lease WHERE name = ?",
		name)
	if err != nil {
		return t, err
	}
	if !exists {
		err = tx.Insert(ctx, "lease", []string{"name", "holder", "expires_at", "term"},
			[][]any{{name, holder, until, 1}}, sqldb.Merge{})
		return Tenure{Term: 1}, booking.AgainIfDuplicate(err)
	}
	// The clock after the read: a holder that froze before the read may find a renewed lease.
	if ends-until > s.clock()-now+leaseSlack.Milliseconds() {
		t.Displaced = has
	} else if has != holder && ends > now {
		return t, nil
	}
	t.Term = term
	if has != holder {
		t.Term++
	}
	n, err := tx.Exec(ctx, "UPDATE lease SET holder = ?, expires_at = ?, term = ? "+
		"WHERE name = ? AND holder = ? AND term = ? AND expires_at = ?", holder, until, t.Term, name, has, term, ends)
	if err == nil && n == 0 {
		err = sqldb.ErrAgain // the holder has renewed it at this moment, or another one has taken it
	}
	return t, err
}

// errUndone rolls the transaction of Probe back.
var errUndone = errors.New("undo")

// Probe returns nil if the ledger takes a write, which is rolled back. Probes of different holders do not wait for each
// other. A database that answers proves less: it may be read-only, or refuse the user's writes.
func (s *Leases) Probe(ctx context.Context, holder string) error {
	err := s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		if err := tx.Insert(ctx, "lease", []string{"name", "holder", "expires_at", "term"},
			[][]any{{"probe " + holder, holder, 0, 1}}, sqldb.Merge{}); err != nil {
			return err
		}
		return errUndone
	})
	if errors.Is(err, errUndone) {
		return nil
	}
	return sqldb.Wrap(err, "write to the ledger")
}

// UnderTerm returns ctx for work under a lease. If another holder has taken over, its transactions fail with
// ErrLeaseTaken and change nothing. During such a transaction no holder can take over.
func (s *Leases) UnderTerm(ctx context.Context, name string, term int64) context.Context {
	return sqldb.Guarded(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		var is int64
		_, err := tx.First(ctx, []any{&is}, "SELECT term FROM lease WHERE name = ?"+tx.ForShare(), name)
		if err == nil && is != term {
			err = ErrLeaseTaken
		}
		return sqldb.Wrap(err, "check lease %s", name)
	})
}

// Holder returns the holder of a lease, "" if it was never taken, and when it ends, Unix ms.
func (s *Leases) Holder(ctx context.Context, name string) (holder string, until int64, err error) {
	err = s.db.Each(ctx, func(scan sqldb.Scan) error { return scan(&holder, &until) },
		"SELECT holder, expires_at FROM lease WHERE name = ?", name)
	return holder, until, sqldb.Wrap(err, "read lease %s", name)
}

// ReleaseLease ends the lease of a holder early. The row stays, so that the next term is higher.
func (s *Leases) ReleaseLease(ctx context.Context, name, holder string) error {
	_, err := s.db.Exec(ctx, "UPDATE lease SET holder = '', expires_at = 0 WHERE name = ? AND holder = ?", name, holder)
	return sqldb.Wrap(err, "release lease %s", name)
}
