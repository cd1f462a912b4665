package confirm

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"redrain/grab/store"
	"redrain/rain"
)

// publishAtOnce is the number of entries of one batch that are in flight to the stream at the same time. A batch
// makes one entry; more are only those of players who ask again.
const publishAtOnce = 8

// stream confirms wins in JetStream.
type stream struct {
	replicas  *replicas
	wins      *store.Wins
	outbox    *store.Outbox
	publisher Publisher
}

// Publisher stores outbox entries in JetStream. pipeline.Publisher implements it.
type Publisher interface {
	// Publish returns nil if JetStream has acknowledged the entry. An entry may be published any number of times.
	Publish(ctx context.Context, e rain.Entry) error
}

// confirm publishes the entries that outlive their master. A new master without the entry offers the packet again. Then
// the ledger pays the winner whose entry came first. When the entries are acknowledged, confirm checks whether Redis
// still has their wins.
//
// The check comes last because Redis may be rebuilt from the ledger and the stream while this node hangs (ADR 17).
// Rebuilds begin only after a loss, then read the stream. If Redis still has the win, any later rebuild finds the
// message. If it has not, the player is never notified.
//
// An older entry that is not in the outbox any more is in the ledger, or Redis has lost it, which the check shows.
func (s *stream) confirm(ctx context.Context, campaign string, shard int, of []*entry) error {
	if err := s.replicas.confirmReplicated(ctx, campaign, shard, of); err != nil {
		return err
	}
	var replicated []*entry
	for _, e := range of {
		if e.confirmed {
			replicated = append(replicated, e)
		}
		e.confirmed = false // not yet
	}
	replicated, err := s.lookUp(ctx, campaign, shard, replicated)
	if err != nil {
		return err
	}
	acknowledged, failure := s.publish(ctx, replicated)
	if len(acknowledged) == 0 {
		return failure
	}
	found, err := s.wins.ReadWins(ctx, campaign, shard, fieldsOf(acknowledged))
	confirmRecorded(acknowledged, found)
	return errors.Join(failure, err)
}

// lookUp returns the entries that can be published. It reads older ones from the outbox; those that are gone from there
// need no message. An entry that cannot be read there is left out; an operator has to inspect it, as the log says.
func (s *stream) lookUp(ctx context.Context, campaign string, shard int, of []*entry) ([]*entry, error) {
	var ready, older []*entry
	var ids []string
	for _, e := range of {
		if e.written != nil {
			ready = append(ready, e)
		} else {
			older, ids = append(older, e), append(ids, e.sample.Entry)
		}
	}
	found, err := s.outbox.Lookup(ctx, campaign, shard, ids)
	if err != nil {
		return nil, err
	}
	for i, e := range older {
		if e.written = found[i].Entry; e.written != nil || found[i].Gone {
			ready = append(ready, e)
		}
	}
	return ready, nil
}

// publish publishes the entries, and returns the acknowledged ones.
func (s *stream) publish(ctx context.Context, of []*entry) (acknowledged []*entry, failure error) {
	var mu sync.Mutex
	var all errgroup.Group
	all.SetLimit(publishAtOnce)
	for _, e := range of {
		all.Go(func() error {
			if e.written != nil {
				if err := s.publisher.Publish(ctx, *e.written); err != nil {
					return err
				}
			}
			mu.Lock()
			defer mu.Unlock()
			acknowledged = append(acknowledged, e)
			return nil
		})
	}
	failure = all.Wait()
	return acknowledged, failure
}
