package confirm

import (
	"context"
	"errors"
	"time"

	"redrain/grab/store"

	"github.com/redis/go-redis/v9"
)

const (
	// replicaTimeout is how long the replicas have to acknowledge. It leaves time for the script before it and for
	// the answer.
	replicaTimeout = 500 * time.Millisecond
	// markerTTL is how long the marker stays: it has done its work when it was acknowledged.
	markerTTL = time.Minute
	// waitsAtMost is how often WAIT is sent for one write.
	waitsAtMost = 8
)

var (
	// errNoHeir says that a win has to outlive its master, and nothing can take over from that.
	errNoHeir = errors.New("redis has no replica that could become master, and --confirm replica needs one of each")
	// errNoReplica says that a replica that could become master has not acknowledged in time.
	errNoReplica = errors.New("not every replica of redis that could become master has acknowledged in time")
	// errOtherMaster says that another master has the shard than the one whose heirs are known.
	errOtherMaster = errors.New("redis has another master now")
)

// replicas make sure that wins outlive the master of their shard: that each heir of it has them.
type replicas struct {
	store *store.Store
	// always is set where a win needs a replica in any case; else it needs one where the master has one, or one
	// could take over.
	always bool
	known  family
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

// outlasting has look read from the shard's master, and returns nil when what it has read outlives that master: all
// heirs have acknowledged it, or, with mode Stream, there is none.
//
// It sends a write, the look, and WAIT over one connection, and asks before and after WAIT what each replica has
// (ROLE). WAIT is about the writes of its own connection, and returns at once where there are none: the write is for
// it to wait for. It counts whoever acknowledges, and does not say who that was: ROLE does. A master's writes reach
// its replicas in order, so a replica that has this one has all that were before it, also those of other
// connections.
//
// The look is what makes it a proof: what it has read was on this very master when it took the write, or said that
// it stands alone. Without it, a master that has just taken over, and does not have the wins in question, would
// acknowledge all the same.
func (r *replicas) outlasting(ctx context.Context, k store.Keys, look func(redis.Pipeliner)) error {
	for {
		master, h, err := r.heirs(ctx, k, look)
		if err != nil || h == nil {
			return err
		}
		err = r.acknowledged(ctx, k, master, h, look, func(p redis.Pipeliner) {
			p.Set(ctx, k.Confirmed, "", markerTTL)
		})
		if redis.HasErrorPrefix(err, "OOM") { // what is paid frees a full Redis, so it must get out of one
			err = r.acknowledged(ctx, k, master, h, look, func(p redis.Pipeliner) {
				r.store.MarkFull(ctx, p, k, markerTTL)
			})
		}
		if err != nil {
			r.known.forget(master)
		}
		if !errors.Is(err, errOtherMaster) {
			return err
		}
	}
}

// acknowledged returns nil when all heirs of a master have what mark writes, and with it what look has read.
//
// Usually WAIT is sent once, for as many as there are heirs. Where others have been counted in their place, it is
// sent again for more.
func (r *replicas) acknowledged(ctx context.Context, k store.Keys, master string, h *heirs,
	look, mark func(redis.Pipeliner)) error {
	deadline := time.Now().Add(replicaTimeout)
	want, left := h.count, replicaTimeout
	for tries := 0; tries < waitsAtMost && left >= time.Millisecond; tries++ {
		var before, after *redis.Cmd
		var acknowledged *redis.IntCmd
		err := r.store.OnMaster(ctx, k.State, func(addr string, p redis.Pipeliner) error {
			if addr != master {
				before = nil
				return nil
			}
			mark(p)
			look(p)
			before = p.Do(ctx, "role")
			acknowledged = redis.NewIntCmd(ctx, "wait", want, left.Milliseconds())
			_ = p.Process(ctx, acknowledged) // it is only put into the pipeline
			after = p.Do(ctx, "role")
			return nil
		})
		if err != nil {
			return err
		}
		if before == nil {
			return errOtherMaster
		}
		written, err1 := roleOf(before)
		now, err2 := roleOf(after)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if h.has(written, now) {
			return nil
		}
		if int(acknowledged.Val()) < want || !h.online(now) {
			return errNoReplica
		}
		want = max(want, min(int(acknowledged.Val())+1, len(now.replicas)))
		left = time.Until(deadline)
	}
	return errNoReplica
}

// heirs are those of the shard's master; nil where a win needs no replica: in mode Stream, where there is none. look
// is read together with that, from the same server.
//
// Who they are is remembered for a while. That there is none is asked each time, after the wins in question were
// written: a replica that comes later copies them with all the rest.
func (r *replicas) heirs(ctx context.Context, k store.Keys, look func(redis.Pipeliner)) (master string, h *heirs,
	err error) {
	cluster := r.store.IsCluster()
	var info, nodes *redis.StringCmd
	var now *redis.TimeCmd
	err = r.store.OnMaster(ctx, k.State, func(addr string, p redis.Pipeliner) error {
		master = addr
		if h = r.known.of(addr); h != nil {
			return nil
		}
		look(p)
		info = p.Info(ctx, "replication")
		if cluster {
			now, nodes = p.Time(ctx), p.ClusterNodes(ctx)
		}
		return nil
	})
	if err != nil || h != nil {
		return master, h, err
	}
	if cluster {
		h, err = r.inCluster(ctx, k, master, info.Val(), nodes.Val(), now.Val())
	} else {
		h, err = r.outsideCluster(ctx, info.Val())
	}
	if err != nil {
		return master, nil, err
	}
	switch {
	case h.count > 0:
		r.known.remember(master, h)
		return master, h, nil
	case r.always:
		return master, nil, errNoHeir
	default:
		return master, nil, nil
	}
}
