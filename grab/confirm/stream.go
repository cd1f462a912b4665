package confirm

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"redrain/grab/store"
	"redrain/rain"
)

// publishAtOnce is the number of entries of one batch that are in flight to the stream at the same time. A batch
// makes one entry; more are only those of players who ask again.
const publishAtOnce = 8

// stream confirms wins in JetStream.
type stream struct {
	epochs    *epochs
	wins      *store.Wins
	outbox    *store.Outbox
	publisher Publisher
}

// Publisher stores outbox entries, and the epochs of their shards, in JetStream. pipeline.Publisher implements it.
type Publisher interface {
	// Publish returns nil if JetStream has acknowledged the entry. An entry may be published any number of times.
	Publish(ctx context.Context, e rain.Entry) error
	// Record returns the newest record of a shard's epochs, the zero record if there is none. It includes every record
	// that was stored before the call.
	Record(ctx context.Context, campaign string, shard int) (rain.Epoch, error)
	// Claim stores a record if the newest one has the sequence after, and returns it with its own sequence. Otherwise
	// it fails with rain.ErrEpochClaimed.
	Claim(ctx context.Context, campaign string, shard int, after uint64, r rain.Epoch) (rain.Epoch, error)
	// Newest calls fn with the newest entries of a shard in the stream that were published before the call, behind a
	// sequence, in any order. It includes the entry with the highest id, and may leave out entries from a minute before
	// that. An entry that came under an old epoch, behind the claim of a newer one, is not among them. fn's error ends
	// it and is returned.
	Newest(ctx context.Context, campaign string, shard int, behind uint64, fn func(rain.Entry) error) error
}

// errEpochEnded means that a shard has got another epoch while its wins were confirmed.
var errEpochEnded = errors.New("another redis, or a rebuild, has claimed the shard")

// confirm publishes the entries that outlive their master, under the epoch that the master holds. A new master without
// the entry offers the packet again. When the entries are acknowledged, confirm checks whether the epoch is still the
// newest, and whether Redis still has their wins.
//
// The check comes last because this node may hang while another master claims the shard, or Redis is rebuilt (ADR 94).
// Both read the stream after their claim. If the epoch is still the newest, any later claim finds the message. If it is
// not, the player is never notified.
//
// An older entry that is not in the outbox any more is in the ledger, or Redis has lost it, which the check shows.
func (s *stream) confirm(ctx context.Context, campaign string, shard int, of []*entry) error {
	k := s.epochs.replicas.store.Keys(campaign, shard)
	var found *redis.SliceCmd
	epoch, err := s.epochs.under(ctx, campaign, shard, func(p redis.Pipeliner) {
		found = p.HMGet(ctx, k.Wins, fieldsOf(of)...)
	})
	if err != nil {
		return err
	}
	confirmRecorded(of, found.Val())
	var replicated []*entry
	for _, e := range of {
		if e.confirmed {
			replicated = append(replicated, e)
		}
		e.confirmed = false // not yet
	}
	replicated, err = s.lookUp(ctx, campaign, shard, replicated)
	if err != nil {
		return err
	}
	acknowledged, failure := s.publish(ctx, replicated, epoch.Number)
	if len(acknowledged) == 0 {
		return failure
	}
	var held bool
	var unread error
	var reading sync.WaitGroup
	reading.Go(func() { held, unread = s.epochs.isHeld(ctx, shardKey{campaign, shard}, epoch) })
	still, err := s.wins.ReadWins(ctx, campaign, shard, fieldsOf(acknowledged))
	reading.Wait()
	switch {
	case held:
		confirmRecorded(acknowledged, still)
	case unread == nil:
		unread = errEpochEnded
	}
	return errors.Join(failure, err, unread)
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

// publish publishes the entries under an epoch, and returns the acknowledged ones.
func (s *stream) publish(ctx context.Context, of []*entry, epoch int64) (acknowledged []*entry, failure error) {
	var mu sync.Mutex
	var all errgroup.Group
	all.SetLimit(publishAtOnce)
	for _, e := range of {
		all.Go(func() error {
			if e.written != nil {
				one := *e.written
				one.Epoch = epoch
				if err := s.publisher.Publish(ctx, one); err != nil {
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
