package grabtest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"redrain/grab/confirm"
	"redrain/grab/confirm/streamtest"
	"redrain/rain"
)

// ErrStream is the error of a Stream that refuses entries.
var ErrStream = errors.New("the stream is away")

// Stream is a fake JetStream.
type Stream struct {
	streamtest.Stream // the epochs, and the published entries

	Mu     sync.Mutex // guards the rest
	kept   []rain.Entry
	Before func(ctx context.Context, e rain.Entry) error // an entry is kept; fails it; may be nil
	After  func()                                        // it was kept, and the answer is in flight; may be nil
}

// Publish is that of a confirm.Publisher.
func (s *Stream) Publish(ctx context.Context, e rain.Entry) error {
	s.Mu.Lock()
	before, after := s.Before, s.After
	s.Mu.Unlock()
	if before != nil {
		if err := before(ctx, e); err != nil {
			return err
		}
	}
	s.Mu.Lock()
	s.kept = append(s.kept, e)
	s.Mu.Unlock()
	_ = s.Stream.Publish(ctx, e) // never fails
	if after != nil {
		after()
	}
	return nil
}

// Refuse has everything fail that is published from now on, or nothing any more.
func (s *Stream) Refuse(all bool) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.Before = nil; all {
		s.Before = func(context.Context, rain.Entry) error { return ErrStream }
	}
}

// Entries are those that were published.
func (s *Stream) Entries() []rain.Entry {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return append([]rain.Entry(nil), s.kept...)
}

// Streaming is a game whose wins are confirmed by a stream.
func Streaming(t *testing.T, rdb redis.UniversalClient, s Setup) (*Game, *Stream) {
	t.Helper()
	to := &Stream{}
	change := s.Options
	s.Options = func(o *Options) {
		o.Confirm, o.Publisher = confirm.Stream, to
		if change != nil {
			change(o)
		}
	}
	return New(t, rdb, s), to
}

// Replicated is a game whose wins are confirmed by a replica.
func Replicated(t *testing.T, rdb redis.UniversalClient, s Setup) *Game {
	t.Helper()
	s.Options = func(o *Options) { o.Confirm = confirm.Replica }
	return New(t, rdb, s)
}
