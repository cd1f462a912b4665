package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
)

// ErrSomeMasters means that some masters of a Cluster take no writes, and others do.
var ErrSomeMasters = errors.New("some masters of the Cluster take no writes")

// probesMost is the most keys that are tried to find one on each master.
const probesMost = 1000

// Probe returns nil if every master takes the write of a win, with this installation's keys. It leaves nothing there.
// If only some do, the error is ErrSomeMasters.
func (s *Store) Probe(ctx context.Context) error {
	keys, err := s.probeKeys(ctx)
	if err != nil {
		return fmt.Errorf("find the masters of redis: %w", err)
	}
	var all sync.WaitGroup
	errs := make([]error, len(keys))
	for i, key := range keys {
		all.Go(func() { errs[i] = wrap(s.run(ctx, "probe", []string{key}).Err(), "write key %s", key) })
	}
	all.Wait()
	failed := slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	switch len(failed) {
	case 0:
		return nil
	case len(keys):
		return failed[0]
	}
	return fmt.Errorf("%w: %w", ErrSomeMasters, failed[0])
}

// probeKeys returns one key on each master.
func (s *Store) probeKeys(ctx context.Context) ([]string, error) {
	cluster, ok := s.rdb.(*redis.ClusterClient)
	if !ok {
		return []string{s.keys.probe(0)}, nil
	}
	var mu sync.Mutex
	masters := 0
	if err := s.EachMaster(ctx, func(context.Context, string, redis.Cmdable) {
		mu.Lock()
		defer mu.Unlock()
		masters++
	}); err != nil {
		return nil, err
	}
	var keys []string
	on := map[string]bool{}
	for n := range probesMost {
		if len(on) == masters {
			break
		}
		node, err := cluster.MasterForKey(ctx, s.keys.probe(n))
		if err != nil {
			return nil, s.Checked(err)
		}
		if addr := node.Options().Addr; !on[addr] {
			on[addr] = true
			keys = append(keys, s.keys.probe(n))
		}
	}
	return keys, nil
}

// OldestWin returns the time of the oldest win in the campaign's outboxes, Unix ms; 0 if there is none. With an error,
// the first shard's, it is that of the shards that answered.
//
// An unreadable entry counts, because it is a player's money. An outbox that begins with a closing has no wins, because
// no tap wins after it.
func (o *Outbox) OldestWin(ctx context.Context, c *rain.Campaign) (oldest int64, failed error) {
	found := make([]*redis.XMessageSliceCmd, Shards(c))
	o.readShards(ctx, c, func(p redis.Pipeliner, shard int) {
		found[shard] = p.XRangeN(ctx, o.keys.shard(c.ID, shard).Outbox, "-", "+", 1)
	})
	now := o.clock()
	for shard, messages := range found {
		if err := messages.Err(); err != nil && failed == nil {
			failed = fmt.Errorf("read the outbox of %s.%d: %w", c.ID, shard, err)
		}
		for _, m := range messages.Val() {
			entry, err := entryOf(c.ID, shard, m)
			if err == nil && entry.Reclaim != nil {
				continue
			}
			at, _, err := entry.Ref.Position()
			if err == nil && at > now { // the clock of this Redis was ahead for a while
				at = entry.SealedAt
			}
			if oldest == 0 || at < oldest {
				oldest = at
			}
		}
	}
	return oldest, failed
}
