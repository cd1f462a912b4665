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

// Publisher stores outbox entries in JetStream.
type Publisher interface {
	// Publish returns nil if JetStream has acknowledged the entry. An entry may be published any number of times.
	Publish(ctx context.Context, e rain.Entry) error
}

// confirm publishes the entries that outlive their master. When they are acknowledged it checks whether Redis still
// has their wins. Only then they are confirmed.
//
// An entry that only a master has must not be published. The replica that takes over has the packet in its stock and
// gives it again, and the winner who is published first is paid.
//
// The check comes last because Redis may lose its memory at any moment. It may be rebuilt from the ledger and the
// stream while this node hangs. A rebuild reads the stream after Redis has accepted the rebuild, which it does only
// after a loss. So a message that was acknowledged before this check found the win is always among those that a
// rebuild reads. The packet of a message that is acknowledged later may be in the stock again. Then this check finds
// nothing, and the player is never notified.
//
// An older entry that is not in the outbox any more is in the ledger. Or Redis has lost it, which the check shows as
// well.
func (s *stream) confirm(ctx context.Context, campaign string, shard int, of []*entry) error {
	if err := s.replicas.outlive(ctx, campaign, shard, of); err != nil {
		return err
	}
	var lasting []*entry
	for _, e := range of {
		if e.confirmed {
			lasting = append(lasting, e)
		}
		e.confirmed = false // not yet
	}
	publications, err := s.publications(ctx, campaign, shard, lasting)
	if err != nil {
		return err
	}
	acknowledged, failure := s.publish(ctx, publications)
	if len(acknowledged) == 0 {
		return failure
	}
	err = confirmRecorded(acknowledged, func(fields []string) ([]any, error) {
		return s.wins.ReadWins(ctx, campaign, shard, fields)
	})
	return errors.Join(failure, err)
}

// publication is a pending entry and the message that the stream has to acknowledge, or nil if the ledger has it.
type publication struct {
	pending *entry
	publish *rain.Entry
}

// publications returns the entries with their wins: a fresh one as it was written, older ones from the outbox. An
// entry that cannot be read there is left out; an operator has to inspect it, as the log says.
func (s *stream) publications(ctx context.Context, campaign string, shard int, of []*entry) ([]publication, error) {
	publications := make([]publication, 0, len(of))
	var older []*entry
	var ids []string
	for _, e := range of {
		if e.written == nil {
			older, ids = append(older, e), append(ids, e.id)
			continue
		}
		publications = append(publications, publication{e, e.written})
	}
	found, err := s.outbox.Lookup(ctx, campaign, shard, ids)
	if err != nil {
		return nil, err
	}
	for i, e := range older {
		if found[i].Entry != nil || found[i].Gone {
			publications = append(publications, publication{e, found[i].Entry})
		}
	}
	return publications, nil
}

// publish publishes the entries, and returns the acknowledged ones.
func (s *stream) publish(ctx context.Context, publications []publication) (acknowledged []*entry, failure error) {
	var mu sync.Mutex
	var all errgroup.Group
	all.SetLimit(publishAtOnce)
	for _, l := range publications {
		all.Go(func() error {
			if l.publish != nil {
				if err := s.publisher.Publish(ctx, *l.publish); err != nil {
					return err
				}
			}
			mu.Lock()
			defer mu.Unlock()
			acknowledged = append(acknowledged, l.pending)
			return nil
		})
	}
	failure = all.Wait()
	return acknowledged, failure
}
