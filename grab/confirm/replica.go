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
	// replicaTimeout is the time that the replicas have to acknowledge. It leaves time for the script before it and
	// for the answer.
	replicaTimeout = 500 * time.Millisecond
	// markerTTL is the life of the marker. It is not needed after its acknowledgement.
	markerTTL = time.Minute
	// waitsAtMost is the most WAIT commands for one write.
	waitsAtMost = 8
)

var (
	// errNoCandidate means that a win has to outlive its master, and there is no failover candidate.
	errNoCandidate = errors.New("redis has no replica that could become master, and --confirm replica needs one")
	// errNoReplica means that a failover candidate has not acknowledged in time.
	errNoReplica = errors.New("not every replica of redis that could become master has acknowledged in time")
	// errOtherMaster means that the shard has moved to another master than the one whose candidates are cached.
	errOtherMaster = errors.New("redis has another master now")
)

// replicas ensures that wins outlive the master of their shard: that each failover candidate has them.
type replicas struct {
	store *store.Store
	// always is set if a win needs a replica in any case. Otherwise it needs one only if the master has one, or one
	// could take over.
	always bool

	mu        sync.Mutex
	known     map[string]*candidates // by master
	sameNames map[string]bool        // by master: CLUSTER NODES and INFO write a replica's address alike
}

func newReplicas(s *store.Store, always bool) *replicas {
	return &replicas{store: s, always: always, known: map[string]*candidates{}, sameNames: map[string]bool{}}
}

// confirmReplicated confirms the entries that each failover candidate has, as readReplicated defines it.
func (r *replicas) confirmReplicated(ctx context.Context, campaign string, shard int, of []*entry) error {
	k := r.store.Keys(campaign, shard)
	var found *redis.SliceCmd
	_, err := r.readReplicated(ctx, k, func(p redis.Pipeliner) { found = p.HMGet(ctx, k.Wins, fieldsOf(of)...) })
	if err == nil {
		confirmRecorded(of, found.Val())
	}
	return err
}

// readReplicated runs the reads of look on the shard's master. It returns nil if every failover candidate has the
// values that look read. With mode Stream there may be no candidate, and history is the master's replication id,
// which is read after them.
//
// It sends a write, the look, and WAIT over one connection, and reads the offset of each replica before and after
// WAIT (ROLE). WAIT only waits for writes of its own connection, so the pipeline makes one first. WAIT counts the
// acknowledging replicas and does not name them: ROLE does. A master's writes reach its replicas in order. So a replica
// that has this one has all earlier ones, also those of other connections.
//
// look runs on the same master between the write and WAIT, so the replicas have the values that it read. A master that
// has just taken over without the wins would acknowledge the write as well.
func (r *replicas) readReplicated(ctx context.Context, k store.Keys, look func(redis.Pipeliner)) (history string,
	err error) {
	for {
		master, info, found, err := r.candidates(ctx, k, look)
		if err != nil || found == nil {
			return store.History(info), err
		}
		info, err = r.acknowledged(ctx, k, master, found, look, func(p redis.Pipeliner) {
			p.Set(ctx, k.Confirmed, "", markerTTL)
		})
		if redis.HasErrorPrefix(err, "OOM") { // paying frees a full Redis, so entries must get out of one
			info, err = r.acknowledged(ctx, k, master, found, look, func(p redis.Pipeliner) {
				r.store.MarkFull(ctx, p, k, markerTTL)
			})
		}
		if err != nil {
			r.remember(master, nil)
		}
		if !errors.Is(err, errOtherMaster) {
			return store.History(info), err
		}
	}
}

// acknowledged returns nil if all candidates of a master have the write of mark, and so the values that look has
// read. WAIT may count replicas that are no candidates. Then it is sent again for one more. With mode Stream, it
// returns INFO replication too.
func (r *replicas) acknowledged(ctx context.Context, k store.Keys, master string, c *candidates,
	look, mark func(redis.Pipeliner)) (string, error) {
	deadline := time.Now().Add(replicaTimeout)
	want, left := c.count, replicaTimeout
	for tries := 0; tries < waitsAtMost && left >= time.Millisecond; tries++ {
		var before, after *redis.Cmd
		var acknowledged *redis.IntCmd
		info := &redis.StringCmd{}
		err := r.store.OnMaster(ctx, k.State, func(addr string, p redis.Pipeliner) error {
			if addr != master {
				before = nil
				return nil
			}
			mark(p)
			look(p)
			if !r.always {
				info = p.Info(ctx, "replication")
			}
			before = p.Do(ctx, "role")
			acknowledged = redis.NewIntCmd(ctx, "wait", want, left.Milliseconds())
			_ = p.Process(ctx, acknowledged) // it is only put into the pipeline
			after = p.Do(ctx, "role")
			return nil
		})
		if err != nil {
			return "", err
		}
		if before == nil {
			return "", errOtherMaster
		}
		written, err1 := roleOf(before)
		now, err2 := roleOf(after)
		if err := errors.Join(err1, err2); err != nil {
			return "", err
		}
		if c.has(written, now) {
			return info.Val(), nil
		}
		if int(acknowledged.Val()) < want || !c.online(now) {
			return "", errNoReplica
		}
		want = max(want, min(int(acknowledged.Val())+1, len(now.replicas)))
		left = time.Until(deadline)
	}
	return "", errNoReplica
}

// candidates returns those of the shard's master; nil if a win needs no replica: in mode Stream, if there is none.
// Their absence is not cached. The values of look are read together with it, from the same server, so a replica that
// joins later copies them. If the master was asked, it returns INFO replication.
func (r *replicas) candidates(ctx context.Context, k store.Keys, look func(redis.Pipeliner)) (master,
	replication string, c *candidates, err error) {
	cluster := r.store.IsCluster()
	var info, nodes *redis.StringCmd
	var now *redis.TimeCmd
	err = r.store.OnMaster(ctx, k.State, func(addr string, p redis.Pipeliner) error {
		master = addr
		if c = r.cached(addr); c != nil {
			return nil
		}
		look(p)
		info = p.Info(ctx, "replication")
		if cluster {
			now, nodes = p.Time(ctx), p.ClusterNodes(ctx)
		}
		return nil
	})
	if err != nil || c != nil {
		return master, "", c, err
	}
	if cluster {
		c, err = r.inCluster(ctx, k, master, info.Val(), nodes.Val(), now.Val())
	} else {
		c, err = r.outsideCluster(ctx, info.Val())
	}
	if err != nil {
		return master, "", nil, err
	}
	switch {
	case c.count > 0:
		r.remember(master, c)
		return master, info.Val(), c, nil
	case r.always:
		return master, "", nil, errNoCandidate
	default:
		return master, info.Val(), nil, nil
	}
}
