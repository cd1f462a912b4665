package confirm

import (
	"context"
	"errors"
	"sync"
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

// replicas make sure that wins outlive the master of their shard.
type replicas struct {
	store *store.Store
	// always is set where a win needs a replica in any case; else it needs one where the master has one, or one
	// could take over.
	always   bool
	followed sync.Map // addresses of masters that have replicas, as store.OnMaster gives them
}

// outlive confirms those entries that the loss of the shard's master does not take back, as outlasting says.
func (r *replicas) outlive(ctx context.Context, campaign string, shard int, of []*entry) error {
	k := r.store.Keys(campaign, shard)
	return confirmRecorded(of, func(fields []string) ([]any, error) {
		var found *redis.SliceCmd
		err := r.outlasting(ctx, k, func(p redis.Pipeliner) { found = p.HMGet(ctx, k.Wins, fields...) })
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
func (r *replicas) outlasting(ctx context.Context, k store.Keys, look func(redis.Pipeliner)) error {
	alone, err := r.standsAlone(ctx, k, look)
	if err != nil || alone {
		return err
	}
	err = r.acknowledged(ctx, k, look, func(p redis.Pipeliner) { p.Set(ctx, k.Confirmed, "", markerTTL) })
	if redis.HasErrorPrefix(err, "OOM") { // what is paid frees a full Redis, so it must get out of one
		err = r.acknowledged(ctx, k, look, func(p redis.Pipeliner) {
			r.store.MarkFull(ctx, p, k, markerTTL)
		})
	}
	return err
}

// acknowledged returns nil when a replica has what mark writes, and with it what look has read.
func (r *replicas) acknowledged(ctx context.Context, k store.Keys, look, mark func(redis.Pipeliner)) error {
	var master string
	var replicas *redis.IntCmd
	err := r.store.OnMaster(ctx, k.State, func(addr string, p redis.Pipeliner) error {
		master = addr
		mark(p)
		look(p)
		replicas = redis.NewIntCmd(ctx, "wait", 1, replicaTimeout.Milliseconds())
		return p.Process(ctx, replicas)
	})
	if err == nil && replicas.Val() < 1 {
		r.followed.Delete(master) // it is asked again whether it has replicas at all
		err = errNoReplica
	}
	return err
}

// standsAlone tells whether a win needs no replica: in mode Stream, where the shard's master has none and none
// could take over. look is read together with that, from the same server.
//
// That a master has replicas is remembered, until a WAIT finds none. That it has none is asked each time, after the
// wins in question were written: a replica that comes later copies them with all the rest.
func (r *replicas) standsAlone(ctx context.Context, k store.Keys, look func(redis.Pipeliner)) (bool, error) {
	if r.always {
		return false, nil
	}
	cluster := r.store.IsCluster()
	var master string
	var known bool
	var info, nodes *redis.StringCmd
	var now *redis.TimeCmd
	err := r.store.OnMaster(ctx, k.State, func(addr string, p redis.Pipeliner) error {
		master = addr
		if _, known = r.followed.Load(addr); known {
			return nil
		}
		look(p)
		info = p.Info(ctx, "replication")
		if cluster {
			now, nodes = p.Time(ctx), p.ClusterNodes(ctx)
		}
		return nil
	})
	if err != nil || known {
		return false, err
	}
	alone, err := hasNoReplica(info.Val())
	if err == nil && alone && cluster {
		alone, err = hasNoHeir(nodes.Val(), now.Val())
	}
	if err == nil && !alone {
		r.followed.Store(master, struct{}{})
	}
	return alone, err
}
