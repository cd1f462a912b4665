package grab

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/rain"
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

// lasting returns entries of an outbox, oldest first, when they may leave Redis. With ConfirmReplica a replica has to have them: a win that
// is lost with its master was told to nobody, and its packet is in the stock of the master's heir again, so whoever wins it there would find it
// paid to another. After an error nothing may leave; what was read stays in the outbox, and comes again through Claim.
//
// The newest entry is looked up for the reason for which confirm looks at wins. It stands for the older ones: they were written
// before it, on the same master.
func (g *Grabber) lasting(ctx context.Context, campaign string, shard int, entries []rain.Entry) ([]rain.Entry, error) {
	if g.o.Confirm != ConfirmReplica || len(entries) == 0 {
		return entries, nil
	}
	k := g.keys.shard(campaign, shard)
	newest := entries[len(entries)-1]
	var found *redis.XMessageSliceCmd
	var acknowledged *redis.IntCmd
	err := g.onMaster(ctx, k.state, func(p redis.Pipeliner) error {
		p.Set(ctx, k.confirmed, "", markerTTL)
		found = p.XRange(ctx, k.outbox, newest.Ref.ID, newest.Ref.ID)
		acknowledged = redis.NewIntCmd(ctx, "wait", 1, replicaTimeout.Milliseconds())
		return p.Process(ctx, acknowledged)
	})
	if err == nil && acknowledged.Val() < 1 {
		err = errNoReplica
	}
	if err == nil {
		if now := g.readable(campaign, shard, found.Val()); len(now) != 1 || !reflect.DeepEqual(now[0], newest) {
			err = errForgotten // or settled in this moment
		}
	}
	if g.seen(err) != nil {
		return nil, fmt.Errorf("entries of the outbox of %s.%d stay where they are: %w", campaign, shard, err)
	}
	return entries, nil
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
