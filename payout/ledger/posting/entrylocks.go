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
	for {
		holder := s.tryLock(entries)
		if holder == nil {
			return func() { s.unlock(entries) }, nil
		}
		select {
		case <-holder:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryLock locks the entries, or returns a channel that is closed at the next unlock of one of them.
func (s *entryLocks) tryLock(entries []rain.Entry) (holder <-chan struct{}) {
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
	gone := make(chan struct{})
	for _, e := range entries {
		s.busy[e.Ref] = gone
	}
	return nil
}

func (s *entryLocks) unlock(entries []rain.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, e := range entries {
		if i == 0 {
			close(s.busy[e.Ref])
		}
		delete(s.busy, e.Ref)
	}
}
