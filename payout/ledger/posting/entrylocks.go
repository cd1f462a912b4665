package posting

import (
	"context"
	"sync"

	"redrain/rain"
)

// entryLocks lets one worker of this process at a time post an outbox entry. If settlement is slow, the relay
// publishes entries again, and two copies meet. Without the lock, the second transaction waits for the first in the
// database, fails at a unique key, and rolls back. A rollback that removes new players' balances leaves gap locks to
// the waiting transactions, which is a deadlock. Between processes that still happens, rarely, and costs one more
// try.
//
// The zero value is ready.
type entryLocks struct {
	mu   sync.Mutex
	busy map[rain.EntryRef]chan struct{} // closed when the entry is unlocked
}

// lock waits until none of the entries is locked and locks them all at once. No worker waits while it holds a lock,
// so there is no deadlock. The caller must call unlock, unless lock fails.
func (s *entryLocks) lock(ctx context.Context, entries []rain.Entry) (unlock func(), err error) {
	mine := make(chan struct{})
	for holder := s.tryLock(entries, mine); holder != nil; holder = s.tryLock(entries, mine) {
		select {
		case <-holder:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, e := range entries {
			delete(s.busy, e.Ref)
		}
		close(mine)
	}, nil
}

// tryLock locks the entries, or returns the channel of a worker that has locked one of them.
func (s *entryLocks) tryLock(entries []rain.Entry, mine chan struct{}) (holder <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		if holder, busy := s.busy[e.Ref]; busy {
			return holder
		}
	}
	if s.busy == nil {
		s.busy = map[rain.EntryRef]chan struct{}{}
	}
	for _, e := range entries {
		s.busy[e.Ref] = mine
	}
	return nil
}
