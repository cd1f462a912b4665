package confirm

import (
	"context"
	"errors"
	"time"

	"redrain/grab/store"

	"github.com/redis/go-redis/v9"
)

const (
	// replicaTimeout is how long a replica has to acknowledge. It leaves time for the script before it and for the
	// answer.
	replicaTimeout = 500 * time.Millisecond
	// markerTTL is how long the marker stays: it has done its work when it was acknowledged.
	markerTTL = time.Minute
)

// errNoReplica says that no replica has acknowledged in time.
var errNoReplica = errors.New("no replica of redis has acknowledged in time")

// outlive confirms those entries that the loss of the shard's master does not take back, as outlasting says.
func (c *Confirmer) outlive(ctx context.Context, campaign string, shard int, of []*entry) error {
	k := c.store.Keys(campaign, shard)
	return confirmRecorded(of, func(fields []string) ([]any, error) {
		var found *redis.SliceCmd
		err := c.outlasting(ctx, k, func(p redis.Pipeliner) { found = p.HMGet(ctx, k.Wins, fields...) })
		if err != nil {
			return nil, err
		}
		return found.Val(), nil
	})
}

// outlasting has look read from the shard's master, and returns nil when what it has read outlives that master: a
// replica has acknowledged it, or, with mode Stream, there is none that could take over.
//
// It sends three commands over one connection: a write, the look, and WAIT. WAIT is about the writes of its own
// connection, and returns at once where there are none: the write is for it to wait for. A master's writes reach
// its replicas in order, so a replica that has this one has all that were before it, also those of other
// connections.
//
// The look is what makes it a proof: what it has read was on this very master when it took the write, or said that
// it stands alone. Without it, a master that has just taken over, and does not have the wins in question, would
// acknowledge all the same.
func (c *Confirmer) outlasting(ctx context.Context, k store.Keys, look func(redis.Pipeliner)) error {
	alone, err := c.standsAlone(ctx, k, look)
	if err != nil || alone {
		return err
	}
	err = c.acknowledged(ctx, k, look, func(p redis.Pipeliner) { p.Set(ctx, k.Confirmed, "", markerTTL) })
	if redis.HasErrorPrefix(err, "OOM") { // what is paid frees a full Redis, so it must get out of one
		err = c.acknowledged(ctx, k, look, func(p redis.Pipeliner) {
			c.store.MarkFull(ctx, p, k, markerTTL)
		})
	}
	return err
}

// acknowledged returns nil when a replica has what mark writes, and with it what look has read.
func (c *Confirmer) acknowledged(ctx context.Context, k store.Keys, look, mark func(redis.Pipeliner)) error {
	var master string
	var replicas *redis.IntCmd
	err := c.store.OnMaster(ctx, k.State, func(addr string, p redis.Pipeliner) error {
		master = addr
		mark(p)
		look(p)
		replicas = redis.NewIntCmd(ctx, "wait", 1, replicaTimeout.Milliseconds())
		return p.Process(ctx, replicas)
	})
	if err == nil && replicas.Val() < 1 {
		c.followed.Delete(master) // it is asked again whether it has replicas at all
		err = errNoReplica
	}
	return err
}
