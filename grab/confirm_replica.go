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
	// replicaTimeout is how long a replica has to acknowledge. It leaves time for the script before it and for the
	// answer.
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

func (r *replicaConfirmer) confirm(ctx context.Context, campaign string, shard int, of []*promise) error {
	return r.g.outlive(ctx, campaign, shard, of)
}

// outlive marks those promises as kept that the loss of the shard's master does not take back, as outlasting says.
func (g *Grabber) outlive(ctx context.Context, campaign string, shard int, of []*promise) error {
	k := g.keys.shard(campaign, shard)
	return keep(of, func(fields []string) ([]any, error) {
		var found *redis.SliceCmd
		if err := g.outlasting(ctx, k, func(p redis.Pipeliner) {
			found = p.HMGet(ctx, k.wins,
				fields...)
		}); err != nil {
			return nil, err
		}
		return found.Val(), nil
	})
}

// outlasting has look read from the shard's master, and returns nil when what it has read outlives that master: a
// replica has acknowledged it, or, with ConfirmStream, there is none that could take over.
//
// It sends three commands over one connection: a write, the look, and WAIT. WAIT is about the writes of its own
// connection, and returns at once where there are none: the write is for it to wait for. A master's writes reach
// its replicas in order, so a replica that has this one has all that were before it, also those of other
// connections.
//
// The look is what makes it a proof: what it has read was on this very master when it took the write, or said that
// it stands alone. Without it, a master that has just taken over, and does not have the wins in question, would
// acknowledge all the same.
func (g *Grabber) outlasting(ctx context.Context, k shardKeys, look func(redis.Pipeliner)) error {
	alone, err := g.standsAlone(ctx, k, look)
	if err != nil || alone {
		return err
	}
	err = g.acknowledged(ctx, k, look, func(p redis.Pipeliner) { p.Set(ctx, k.confirmed, "", markerTTL) })
	if redis.HasErrorPrefix(err, "OOM") { // what is paid frees a full Redis, so it must get out of one
		err = g.acknowledged(ctx, k, look, func(p redis.Pipeliner) {
			g.scripts.mark.Eval(ctx, p, []string{k.confirmed}, markerTTL.Milliseconds())
		})
	}
	return err
}

// acknowledged returns nil when a replica has what mark writes, and with it what look has read.
func (g *Grabber) acknowledged(ctx context.Context, k shardKeys, look, mark func(redis.Pipeliner)) error {
	var master string
	var replicas *redis.IntCmd
	err := g.onMaster(ctx, k.state, func(addr string, p redis.Pipeliner) error {
		master = addr
		mark(p)
		look(p)
		replicas = redis.NewIntCmd(ctx, "wait", 1, replicaTimeout.Milliseconds())
		return p.Process(ctx, replicas)
	})
	if err == nil && replicas.Val() < 1 {
		g.followed.Delete(master) // it is asked again whether it has replicas at all
		err = errNoReplica
	}
	return err
}

// lasting returns entries of an outbox, oldest first, when they may leave Redis. Unless Options.Confirm is
// ConfirmRedis they have to outlive their master: a win that is lost with it was told to nobody, and its packet is
// in the stock of the master's heir again, so whoever wins it there would find it paid to another. After an error
// nothing may leave; what was read stays in the outbox, and comes again through Claim.
//
// The newest entry is looked up for the reason for which outlive looks at wins. It stands for the older ones: they
// were written before it, on the same master. Where it has been settled and removed meanwhile (with ConfirmStream
// the winners' node publishes it as well), the record of one of its wins stands for it.
func (g *Grabber) lasting(ctx context.Context, campaign string, shard int, entries []rain.Entry) ([]rain.Entry, error) {
	if g.o.Confirm == ConfirmRedis || len(entries) == 0 {
		return entries, nil
	}
	k := g.keys.shard(campaign, shard)
	newest := entries[len(entries)-1]
	var found *redis.XMessageSliceCmd
	var settled promise // by the newest one's record, if it is gone from the outbox
	var err error
	if len(newest.Wins) > 0 {
		settled = promise{entry: newest.Ref.ID, witness: newest.Wins[0]}
		err = keep([]*promise{&settled}, func(fields []string) ([]any, error) {
			var records *redis.SliceCmd
			err := g.outlasting(ctx, k, func(p redis.Pipeliner) {
				found = p.XRange(ctx, k.outbox, newest.Ref.ID, newest.Ref.ID)
				records = p.HMGet(ctx, k.wins, fields...)
			})
			if err != nil {
				return nil, err
			}
			return records.Val(), nil
		})
	} else {
		err = g.outlasting(ctx, k, func(p redis.Pipeliner) {
			found = p.XRange(ctx, k.outbox, newest.Ref.ID,
				newest.Ref.ID)
		})
	}
	if err == nil {
		now := g.readable(campaign, shard, found.Val())
		there := len(now) == 1 && reflect.DeepEqual(now[0], newest)
		gone := len(found.Val()) == 0 && settled.kept
		if !there && !gone {
			err = errForgotten
		}
	}
	if g.seen(err) != nil {
		return nil, fmt.Errorf("entries of the outbox of %s.%d stay where they are: %w", campaign, shard, err)
	}
	return entries, nil
}

// onMaster sends commands over one connection to the master that has the key. Where it does not answer or is no
// master any more, it looks for the one that is, until ctx ends. commands may be called several times; addr is the
// master's in a Cluster, else "".
func (g *Grabber) onMaster(ctx context.Context, key string, commands func(addr string, p redis.Pipeliner) error) error {
	cluster, ok := g.rdb.(*redis.ClusterClient)
	if !ok {
		// go-redis itself tries again
		_, err := g.rdb.Pipelined(ctx, func(p redis.Pipeliner) error { return commands("", p) })
		return err
	}
	again := time.NewTicker(masterEvery)
	defer again.Stop()
	for {
		node, err := cluster.MasterForKey(ctx, key)
		if err == nil {
			_, err = node.Pipelined(ctx, func(p redis.Pipeliner) error { return commands(node.Options().Addr, p) })
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
