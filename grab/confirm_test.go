package grab

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

func TestConfirmIsParsed(t *testing.T) {
	for c, name := range map[Confirm]string{ConfirmRedis: "redis", ConfirmReplica: "replica", ConfirmStream: "stream"} {
		if got, err := ParseConfirm(name); err != nil || got != c || got.String() != name {
			t.Errorf("%q was read as %v, %v", name, got, err)
		}
	}
	for _, bad := range []string{"", "Redis", "both"} {
		if got, err := ParseConfirm(bad); err == nil {
			t.Errorf("%q was read as %v", bad, got)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a stream to which nothing can be published was taken")
		}
	}()
	New(nil, Options{Confirm: ConfirmStream})
}

// stream is what JetStream is to a Grabber.
type stream struct {
	mu     sync.Mutex
	kept   []rain.Entry
	before func(ctx context.Context, e rain.Entry) error // an entry is kept; fails it; may be nil
	after  func()                                        // it was kept, and the answer is on its way; may be nil
}

var errStream = errors.New("the stream is away")

func (s *stream) publish(ctx context.Context, e rain.Entry) error {
	s.mu.Lock()
	before, after := s.before, s.after
	s.mu.Unlock()
	if before != nil {
		if err := before(ctx, e); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.kept = append(s.kept, e)
	s.mu.Unlock()
	if after != nil {
		after()
	}
	return nil
}

// refuse has everything fail that is published from now on, or nothing any more.
func (s *stream) refuse(all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.before = nil; all {
		s.before = func(context.Context, rain.Entry) error { return errStream }
	}
}

func (s *stream) entries() []rain.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]rain.Entry(nil), s.kept...)
}

// streaming is a game whose wins are confirmed by a stream.
func streaming(t *testing.T, rdb redis.UniversalClient, s setup) (*game, *stream) {
	t.Helper()
	to := &stream{}
	s.options = func(o *Options) { o.Confirm, o.Publish = ConfirmStream, to.publish }
	return newGame(t, rdb, s), to
}

// outbox is all that waits in the game's outboxes.
func (gm *game) outbox() (entries []rain.Entry) {
	gm.t.Helper()
	shards, err := gm.g.Snapshot(gm.t.Context(), gm.c)
	if err != nil {
		gm.t.Fatal(err)
	}
	for _, s := range shards {
		entries = append(entries, s.Entries...)
	}
	return entries
}

// confirmed is what of a player's wins may be told.
func (gm *game) confirmed(user string) []rain.Win {
	gm.t.Helper()
	wins, err := gm.g.ConfirmedWins(gm.t.Context(), gm.c, user)
	if err != nil {
		gm.t.Fatal(err)
	}
	return wins
}

// batchOf has one batch decided, and returns the results in the order of the taps: "user drop".
func (gm *game) batchOf(taps ...[2]string) []Result {
	gm.t.Helper()
	results := make([]Result, len(taps))
	batch := make([]*Tap, len(taps))
	for i, t := range taps {
		id, ok := rain.ParseDrop(t[1])
		if !ok {
			gm.t.Fatalf("%q is no drop", t[1])
		}
		batch[i] = &Tap{User: t[0], Drop: id, stripe: newMemory(nil).stripe(t[0]), player: &player{},
			Asker: &asker{func(Result) {}}}
	}
	if err := (&batcher{gate: gm.gate, keys: gm.g.keys.shard(gm.c.ID, 0).grabbing()}).decide(batch); err != nil {
		gm.t.Logf("the batch failed: %v", err)
	}
	for i, t := range batch {
		results[i] = t.Result()
	}
	return results
}
