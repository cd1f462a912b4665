package grab

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"redrain/rain"
)

// publishAtOnce is how many entries of one batch are on their way to the stream at the same time. A batch makes
// one; more are only those of players who ask again.
const publishAtOnce = 8

// streamConfirmer waits until JetStream has the wins, and before that, where there are replicas, until one of those
// has them.
type streamConfirmer struct{ g *Grabber }

// confirm publishes the entries that outlive their master, and when they are acknowledged looks whether Redis still
// knows their wins. Only then they are kept.
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
func (s *streamConfirmer) confirm(ctx context.Context, campaign string, shard int, of []*promise) error {
	if err := s.g.outlive(ctx, campaign, shard, of); err != nil {
		return err
	}
	var lasting []*promise
	for _, p := range of {
		if p.kept {
			lasting = append(lasting, p)
		}
		p.kept = false // not yet
	}
	letters, err := s.letters(ctx, campaign, shard, lasting)
	if err != nil {
		return err
	}
	acknowledged, failure := s.publish(ctx, letters)
	if len(acknowledged) == 0 {
		return failure
	}
	wins := s.g.keys.shard(campaign, shard).wins
	err = keep(acknowledged, func(fields []string) ([]any, error) {
		found, err := s.g.rdb.HMGet(ctx, wins, fields...).Result()
		return found, s.g.seen(err)
	})
	return errors.Join(failure, err)
}

// letter is a promise with what the stream has to acknowledge of it: its entry, or nil where the ledger has it.
type letter struct {
	promise *promise
	entry   *rain.Entry
}

// letters are the promises with their entries: those of a batch that has just been decided as it was written, those
// of older ones from the outbox. One that cannot be read there is left out; a person has to look at it, as the log
// says.
func (s *streamConfirmer) letters(ctx context.Context, campaign string, shard int, of []*promise) ([]letter, error) {
	letters := make([]letter, 0, len(of))
	var older []*promise
	for _, p := range of {
		if p.wins == nil {
			older = append(older, p)
			continue
		}
		ref := rain.EntryRef{Campaign: campaign, Shard: shard, ID: p.entry}
		letters = append(letters, letter{p, &rain.Entry{Ref: ref, Wins: p.wins}})
	}
	if len(older) == 0 {
		return letters, nil
	}
	found := make([]*redis.XMessageSliceCmd, len(older))
	_, err := s.g.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range older {
			found[i] = p.XRange(ctx, s.g.keys.shard(campaign, shard).outbox, older[i].entry, older[i].entry)
		}
		return nil
	})
	if s.g.seen(err) != nil {
		return nil, err
	}
	for i, p := range older {
		switch entries := s.g.readable(campaign, shard, found[i].Val()); {
		case len(entries) == 1:
			letters = append(letters, letter{p, &entries[0]})
		case len(found[i].Val()) == 0:
			letters = append(letters, letter{p, nil})
		}
	}
	return letters, nil
}

// publish publishes what has to be, and returns the promises that have been acknowledged.
func (s *streamConfirmer) publish(ctx context.Context, letters []letter) (acknowledged []*promise, failure error) {
	var mu sync.Mutex
	var all errgroup.Group
	all.SetLimit(publishAtOnce)
	for _, l := range letters {
		all.Go(func() error {
			if l.entry != nil {
				if err := s.g.o.Publish(ctx, *l.entry); err != nil {
					return err
				}
			}
			mu.Lock()
			defer mu.Unlock()
			acknowledged = append(acknowledged, l.promise)
			return nil
		})
	}
	failure = all.Wait()
	return acknowledged, failure
}
