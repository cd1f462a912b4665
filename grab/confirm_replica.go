package grab

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// replicaTimeout is how long a replica has to acknowledge. It leaves time for the script before it and for the answer.
	replicaTimeout = 500 * time.Millisecond
	// masterEvery is how often a master that has gone or moved is looked for again.
	masterEvery = 50 * time.Millisecond
	// markerTTL is how long the marker stays: it has done its work when it was acknowledged.
	markerTTL = time.Minute
)

// errNoReplica says that no replica has acknowledged in time.
var errNoReplica = errors.New("no replica of redis has acknowledged in time")

// replicaConfirmer waits until a replica has the wins.
type replicaConfirmer struct{ g *Grabber }

// confirm sends three commands over one connection of the shard's master: a write, a look at the wins, and WAIT. WAIT is about
// the writes of its own connection, and returns at once where there are none: the write is for it to wait for. A master's writes reach
// its replicas in order, so a replica that has this one has all that were before it, also those of other connections.
//
// The look is what makes it a proof: the wins were on this very master when it took the write. Without it, a master that has
// just taken over, and does not have them, would acknowledge all the same.
func (r *replicaConfirmer) confirm(ctx context.Context, campaign string, shard int, of []*promise) error {
	k := r.g.keys.shard(campaign, shard)
	users := witnesses(of)
	var found *redis.SliceCmd
	var acknowledged *redis.IntCmd
	err := r.g.onMaster(ctx, k.state, func(p redis.Pipeliner) error {
		p.Set(ctx, k.confirmed, "", markerTTL)
		found = p.HMGet(ctx, k.wins, users...)
		acknowledged = redis.NewIntCmd(ctx, "wait", 1, replicaTimeout.Milliseconds())
		return p.Process(ctx, acknowledged)
	})
	switch {
	case err != nil:
		return err
	case acknowledged.Val() < 1:
		return errNoReplica
	}
	return keep(of, found.Val())
}

// onMaster sends commands over one connection to the master that has the key. Where it does not answer or is no master any more, it
// looks for the one that is, until ctx ends.
func (g *Grabber) onMaster(ctx context.Context, key string, commands func(redis.Pipeliner) error) error {
	cluster, ok := g.rdb.(*redis.ClusterClient)
	if !ok {
		_, err := g.rdb.Pipelined(ctx, commands) // go-redis itself tries again
		return err
	}
	again := time.NewTicker(masterEvery)
	defer again.Stop()
	for {
		node, err := cluster.MasterForKey(ctx, key)
		if err == nil {
			_, err = node.Pipelined(ctx, commands)
		}
		if err == nil || redis.HasErrorPrefix(err, "OOM") {
			return err
		}
		cluster.ReloadState(ctx)
		select {
		case <-again.C:
		case <-ctx.Done():
			return err
		}
	}
}
