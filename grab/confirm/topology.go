package confirm

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"redrain/grab/store"

	"github.com/redis/go-redis/v9"
)

const (
	// candidatesFor is the time for which the failover candidates of a master are cached. A replica that joins copies
	// all earlier writes first, and from then on ROLE lists it. A replica that leaves is missed at once. One change is
	// noticed late: an operator has allowed the promotion of a replica that was barred before.
	candidatesFor = 10 * time.Second
	// askWithin is the time that a replica has to answer.
	askWithin = 200 * time.Millisecond
	// electableFor is the default time for which Redis lets a replica be elected that is cut off from its master. It
	// is 175 seconds, and some for the clocks.
	electableFor = 3 * time.Minute
	// electableMore is added to a configured time, because its seconds are rounded down.
	electableMore = 5 * time.Second
)

// cached returns a master's failover candidates, nil if the master has to be asked.
func (r *replicas) cached(master string) *candidates {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.known[master]; c != nil && time.Now().Before(c.until) {
		return c
	}
	return nil
}

// remember caches a master's failover candidates; nil removes them.
func (r *replicas) remember(master string, c *candidates) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[master] = c; c != nil {
		c.until = time.Now().Add(candidatesFor)
	}
}

// inCluster reads the failover candidates of a master of a Cluster. The Cluster also lists replicas whose connection
// is broken. A replica that it has declared dead counts until Redis bars it. Until then it may come back with its old
// data, and be elected if its master is dead by then. Redis compares the time since the replica last received from
// the master, as a node of the Cluster and as a replica.
func (r *replicas) inCluster(ctx context.Context, k store.Keys, master, info, nodes string, now time.Time) (*candidates,
	error) {
	copying, more, err := connected(info)
	if err != nil {
		return nil, err
	}
	found, err := parseReplicaSet(nodes, now)
	if err != nil {
		return nil, err
	}
	if len(found.dead) > 0 {
		limit, ends := r.electable(ctx, k)
		for _, d := range found.dead {
			for _, c := range copying {
				if c.name == d.name {
					d.since = min(d.since, c.lag)
				}
			}
			if ends && d.since > limit {
				found.barred = append(found.barred, d.name)
			} else {
				found.names = append(found.names, d.name)
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c, sure := newCandidates(found, copying, more, r.sameNames[master])
	r.sameNames[master] = sure
	return c, nil
}

// electable returns the time for which Redis lets a replica be elected that is cut off from its master. If there is
// no limit, ends is false. If Redis hides its settings it returns the default time.
func (r *replicas) electable(ctx context.Context, k store.Keys) (limit time.Duration, ends bool) {
	master, err := r.store.MasterOf(ctx, k.State)
	if err != nil {
		return electableFor, true
	}
	setting := func(name string) int64 {
		all, failed := master.ConfigGet(ctx, name).Result()
		n, unreadable := strconv.ParseInt(all[name], 10, 64)
		err = errors.Join(err, failed, unreadable)
		return n
	}
	timeout := time.Duration(setting("cluster-node-timeout")) * time.Millisecond
	factor := setting("cluster-replica-validity-factor")
	ping := time.Duration(setting("repl-ping-replica-period")) * time.Second
	if err != nil {
		return electableFor, true
	}
	return time.Duration(factor+1)*timeout + ping + electableMore, factor > 0
}

// outsideCluster reads the failover candidates of a single server: its connected replicas. A replica with the
// priority 0 is never promoted; it reports that itself. A replica that cannot be asked counts as a candidate.
func (r *replicas) outsideCluster(ctx context.Context, info string) (*candidates, error) {
	copying, more, err := connected(info)
	if err != nil {
		return nil, err
	}
	leads := make([]bool, len(copying))
	var asked sync.WaitGroup
	for i, c := range copying {
		asked.Go(func() { leads[i] = r.mayLead(ctx, c.name) })
	}
	asked.Wait()
	found := &candidates{}
	for i, c := range copying {
		if leads[i] {
			found.names = append(found.names, c.name)
		} else {
			found.barred = append(found.barred, c.name)
		}
	}
	found.count = len(found.names) + more
	return found, nil
}

// mayLead asks a replica whether it may become master.
func (r *replicas) mayLead(ctx context.Context, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	var info string
	err := r.store.OnServer(name, func(server redis.Cmdable) (err error) {
		info, err = server.Info(ctx, "replication").Result()
		return err
	})
	lines := strings.Fields(info)
	return err != nil || !slices.Contains(lines, "role:slave") || !slices.Contains(lines, "slave_priority:0")
}
