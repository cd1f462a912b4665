package confirm

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/redis/go-redis/v9"

	"redrain/grab/store"
	"redrain/rain"
)

// Rebuild is the epoch of a rebuild of one shard; the zero value is that of a mode without epochs.
type Rebuild struct {
	Claim  string // for store.Restoration
	record rain.Epoch
}

// BeginRebuild claims the next epoch of a shard for its rebuild. From then on no win of the shard can be confirmed
// until the rebuild has ended. So all confirmed wins are in the stream. It fails with rain.ErrEpochClaimed if another
// node claims at the same time. The modes without epochs have nothing to claim.
func (c *Confirmer) BeginRebuild(ctx context.Context, campaign string, shard int) (Rebuild, error) {
	if c.mode != Stream {
		return Rebuild{}, nil
	}
	key := shardKey{campaign, shard}
	was, err := c.epochs.record(ctx, key, true)
	if err == nil && c.epochs.others != nil && !was.IsRebuild() && was.Holder != "" {
		err = c.epochs.mayRebuild(ctx, key, was)
	}
	if err != nil {
		return Rebuild{}, err
	}
	next := claim{number: was.Number + 1, holder: rain.RebuildMark + rand.Text()}
	r, err := c.epochs.claim(ctx, key, was, rain.Epoch{Number: next.number, Holder: next.holder})
	return Rebuild{Claim: next.String(), record: r}, err
}

// mayRebuild returns an error if a node sees the holder of a shard, and it is another master than this node's.
func (e *epochs) mayRebuild(ctx context.Context, key shardKey, r rain.Epoch) error {
	var info *redis.StringCmd
	k := e.replicas.store.Keys(key.campaign, key.shard)
	err := e.replicas.store.OnMaster(ctx, k.State, func(_ string, p redis.Pipeliner) error {
		info = p.Info(ctx, "replication")
		return nil
	})
	if err == nil && store.History(info.Val()) != r.Holder && e.others.IsSeen(ctx, r.Holder) {
		err = fmt.Errorf("shard %d of campaign %s: %w", key.shard, key.campaign, errSuperseded)
	}
	return err
}

// IsHeld reports whether a rebuild's claim is still the newest of its shard.
func (c *Confirmer) IsHeld(ctx context.Context, campaign string, shard int, of Rebuild) (bool, error) {
	if c.mode != Stream {
		return true, nil
	}
	return c.epochs.isHeld(ctx, shardKey{campaign, shard}, of.record)
}
