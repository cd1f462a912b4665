package confirm

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"redrain/grab/store"
	"redrain/rain"
)

// publishAtOnce is how many entries of one batch are on their way to the stream at the same time. A batch makes
// one; more are only those of players who ask again.
const publishAtOnce = 8

// stream makes sure of wins in JetStream.
type stream struct {
	replicas  *replicas
	wins      *store.Wins
	outbox    *store.Outbox
	publisher Publisher
}

// Publisher has JetStream keep outbox entries.
type Publisher interface {
	// Publish returns nil when JetStream has said that it has the entry. An entry may be published any number of times.
	Publish(ctx context.Context, e rain.Entry) error
}

// confirm publishes the entries that outlive their master, and when they are acknowledged looks whether Redis still
// knows their wins. Only then they are confirmed.
//
// What only a master has must not be published: the replica that takes over has the packet in its stock and gives
// it again, and the one who is published first is paid.
//
// The look comes last because Redis may lose its memory at any moment, and be rebuilt from the ledger and the
// stream while this node hangs. A rebuild reads the stream after Redis has taken it up, which it does only when it
// has forgotten. So a message that was acknowledged before this look found the win is always among what a rebuild
// reads; and one that is acknowledged later, whose packet may be in the stock again, finds nothing here and is
// never told.
//
// An older entry that is not in the outbox any more is in the ledger; or Redis has lost it, which the look shows as
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
	letters, err := s.letters(ctx, campaign, shard, lasting)
	if err != nil {
		return err
	}
	acknowledged, failure := s.publish(ctx, letters)
	if len(acknowledged) == 0 {
		return failure
	}
	err = confirmRecorded(acknowledged, func(fields []string) ([]any, error) {
		return s.wins.ReadWins(ctx, campaign, shard, fields)
	})
	return errors.Join(failure, err)
}

// letter is a pending entry with what the stream has to acknowledge of it, or nil where the ledger has it.
type letter struct {
	pending *entry
	publish *rain.Entry
}

// letters are the entries with their wins: those of a batch that has just been decided as it was written, those of
// older ones from the outbox. One that cannot be read there is left out; a person has to look at it, as the log says.
func (s *stream) letters(ctx context.Context, campaign string, shard int, of []*entry) ([]letter, error) {
	letters := make([]letter, 0, len(of))
	var older []*entry
	var ids []string
	for _, e := range of {
		if e.written == nil {
			older, ids = append(older, e), append(ids, e.id)
			continue
		}
		letters = append(letters, letter{e, e.written})
	}
	found, err := s.outbox.Lookup(ctx, campaign, shard, ids)
	if err != nil {
		return nil, err
	}
	for i, e := range older {
		if found[i].Entry != nil || found[i].Gone {
			letters = append(letters, letter{e, found[i].Entry})
		}
	}
	return letters, nil
}

// publish publishes what has to be, and returns the entries that have been acknowledged.
func (s *stream) publish(ctx context.Context, letters []letter) (acknowledged []*entry, failure error) {
	var mu sync.Mutex
	var all errgroup.Group
	all.SetLimit(publishAtOnce)
	for _, l := range letters {
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
