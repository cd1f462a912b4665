package payout

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"redrain/rain"
)

// Publish puts one entry into the stream, and returns nil when JetStream has acknowledged it: from then on the stream has
// it, whatever becomes of Redis. It tries until ctx ends, and makes the stream where it is missing. It works on every node,
// also where Run does not.
//
// The entry stays in its outbox until it is in the ledger, and is published again if that takes long, like every other.
func (r *Relay) Publish(ctx context.Context, e rain.Entry) error {
	for try := 0; ; try++ {
		err := r.publishNow(ctx, e)
		if err == nil {
			r.fresh.add(e.Ref)
			return nil
		}
		if errors.Is(err, nats.ErrMaxPayload) || !sleep(ctx, backoff(20*time.Millisecond, 500*time.Millisecond, try)) {
			return err
		}
		if _, making := r.stream.ensure(ctx); making != nil && ctx.Err() != nil {
			return fmt.Errorf("%w; %w", err, making)
		}
	}
}

func (r *Relay) publishNow(ctx context.Context, e rain.Entry) error {
	if err := r.stream.connected(); err != nil {
		return err
	}
	return r.publishEntry(ctx, e)
}

// recent is a set of entries that forgets: each is remembered for at least a while, and at most twice as long. It only saves
// the work of publishing twice.
type recent struct {
	keep time.Duration

	mu          sync.Mutex
	now, before map[rain.EntryRef]struct{}
	turned      time.Time
}

func newRecent(keep time.Duration) *recent {
	return &recent{keep: keep, now: map[rain.EntryRef]struct{}{}, turned: time.Now()}
}

func (r *recent) add(ref rain.EntryRef) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn()
	r.now[ref] = struct{}{}
}

// unknown are the entries that are not in the set.
func (r *recent) unknown(entries []rain.Entry) []rain.Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn()
	if len(r.now)+len(r.before) == 0 {
		return entries
	}
	rest := make([]rain.Entry, 0, len(entries))
	for _, e := range entries {
		_, a := r.now[e.Ref]
		if _, b := r.before[e.Ref]; !a && !b {
			rest = append(rest, e)
		}
	}
	return rest
}

// turn begins a new set where the time has come, and drops the one before the last.
func (r *recent) turn() {
	if time.Since(r.turned) >= r.keep {
		r.before, r.now, r.turned = r.now, map[rain.EntryRef]struct{}{}, time.Now()
	}
}
