package posting

import (
	"context"
	"sync"

	"redrain/rain"
)

// entryLocks lets only one worker of this process at a time have an outbox entry in hand. Copies of an entry meet
// where settlement is slow and the relay publishes it again. In the database the second of them would wait for the
// first in the middle of its transaction, find out at a unique key that all is posted, and roll back; and a
// rollback that takes new players' balances away again leaves those who wait for them with gap locks, which is a
// deadlock. Between processes that still happens, rarely, and is only a try more.
//
// The zero value is ready.
type entryLocks struct {
	mu   sync.Mutex
	busy map[rain.EntryRef]chan struct{} // closed when the entry's holder leaves
}

// enter waits until none of the entries is in anybody's hand and takes them all at once. Nobody waits with an entry in
// hand, so nobody waits for ever. leave must be called; after an error there is nothing to leave.
func (s *entryLocks) enter(ctx context.Context, entries []rain.Entry) (leave func(), err error) {
	for {
		holder := s.take(entries)
		if holder == nil {
			return func() { s.leave(entries) }, nil
		}
		select {
		case <-holder:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take takes the entries, or tells when it is worth to try again.
func (s *entryLocks) take(entries []rain.Entry) (holder <-chan struct{}) {
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

func (s *entryLocks) leave(entries []rain.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, e := range entries {
		if i == 0 {
			close(s.busy[e.Ref])
		}
		delete(s.busy, e.Ref)
	}
}
