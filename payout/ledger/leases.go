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

// Tenure is what somebody has of a lease.
type Tenure struct {
	// Term is the number of the one who has it: it rises each time that the lease changes hands, and is what Fenced
	// looks at. 0: another has the lease.
	Term int64
	// Stray is whose lease was dated further ahead than anybody takes one, by hand or by a wrong clock. It was taken
	// over all the same, because it would have kept everybody from the work; "" otherwise.
	Stray string
}

// Held tells whether it is this holder's.
func (t Tenure) Held() bool { return t.Term > 0 }

// LongestLease is how long a lease may be asked for. One that ends later was dated by hand or by a wrong clock.
const LongestLease = time.Minute

// leaseSlack is how much nodes' clocks may differ, amply.
const leaseSlack = time.Second

// ErrLeaseTaken is a write under a lease that another holds by now.
var ErrLeaseTaken = errors.New("another node has taken over the lease that this was to be done under")

// Lease takes the lease of a name for holder, or renews it, until ttl, and LongestLease at most, from the call (not
// from its return). It is not held as long as another holder has it; that lease ends when its holder releases it or
// does not renew it in time. A name is at most 64 bytes, a holder at most 128. All holders of a name take it for the
// same ttl.
//
// Time is the ledger's clock. Nodes' clocks may differ by a quarter of a second, and a holder that is frozen does
// not notice that its time is up: what is done outside the ledger under a lease must be safe to be done twice. What is
// written into the ledger is written by the holder of the day only: see Fenced.
func (s *Leases) Lease(ctx context.Context, name, holder string, ttl time.Duration) (t Tenure, err error) {
	var until int64
	err = s.db.InTx(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
		now := s.clock()
		until = now + min(ttl, LongestLease).Milliseconds()
		t, err = s.take(ctx, tx, name, holder, now, until)
		return err
	})
	if err != nil {
		return Tenure{}, fmt.Errorf("lease of %s: %w", name, err)
	}
	if s.clock() >= until { // it is over already: the database was slow
		t.Term = 0
	}
	return t, nil
}

// take is Lease in a transaction. It locks the row only where it changes it: those who ask in vain make nobody wait.
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
	// By the clock of after the read: whoever froze before it finds a lease that has been renewed since.
	if ends-until > s.clock()-now+leaseSlack.Milliseconds() {
		t.Stray = has
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
		err = sqldb.ErrAgain // the holder has renewed it at this very moment, or another has taken it
	}
	return t, err
}

// Fenced is ctx for work under a lease. No transaction that is begun with it changes anything once another has taken
// over, and while one is under way nobody takes over. The error is ErrLeaseTaken.
func (s *Leases) Fenced(ctx context.Context, name string, term int64) context.Context {
	return sqldb.Guarded(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		var is int64
		_, err := tx.First(ctx, []any{&is}, "SELECT term FROM lease WHERE name = ?"+tx.ForShare(), name)
		if err == nil && is != term {
			err = ErrLeaseTaken
		}
		return sqldb.Wrap(err, "lease of %s", name)
	})
}

// ReleaseLease gives a lease back before its time. It does nothing where holder does not have it. Its row stays: the
// next term is higher.
func (s *Leases) ReleaseLease(ctx context.Context, name, holder string) error {
	_, err := s.db.Exec(ctx, "UPDATE lease SET holder = '', expires_at = 0 WHERE name = ? AND holder = ?", name, holder)
	return sqldb.Wrap(err, "lease of %s", name)
}
