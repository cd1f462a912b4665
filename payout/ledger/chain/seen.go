package chain

import (
	"context"
	"fmt"
	"sync"

	"redrain/internal/sqldb"
)

// Seen is what a process has seen of the ends of the chains. Whoever writes to the database can take away the newest
// links of a chain and set back its head, or rewrite a whole chain; what a process remembers they cannot change. The
// zero value has seen nothing.
type Seen struct {
	mu   sync.Mutex
	ends map[Stripe]End
}

// Check looks for the ends that were seen before, calls found for each that is not there any more, in words, and keeps
// those that are there now. An end that is missing is looked for again by each Check. A ledger is put back from a
// backup while no process runs, so nobody who has seen more than the backup has is there after it.
func (s *Seen) Check(ctx context.Context, q sqldb.Querier, found func(fault string)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	missing := map[Stripe]bool{}
	for at, e := range s.ends {
		err := CheckEnd(ctx, q, "what this process has seen before", e, func(fault string) {
			missing[at] = true
			found(fault)
		})
		if err != nil {
			return fmt.Errorf("the ends of the chains that were seen before: %w", err)
		}
	}
	ends, err := readEnds(ctx, q)
	if err != nil {
		return fmt.Errorf("the heads of the chains: %w", err)
	}
	if s.ends == nil {
		s.ends = map[Stripe]End{}
	}
	for _, e := range ends {
		if at := (Stripe{e.Book, e.Stripe}); !missing[at] && e.Links >= s.ends[at].Links {
			s.ends[at] = e
		}
	}
	return nil
}
