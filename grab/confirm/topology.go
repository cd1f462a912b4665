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
	// candidatesFor is the time for which the failover candidates of a master are cached.
	//
	// They may change meanwhile. A replica that joins copies all earlier writes before it comes online, and Redis
	// does not promote a replica that has never had a copy. From when it is online ROLE lists it, and it must
	// acknowledge like all others. A replica that leaves is missed at once, and then its master is asked again. One
	// change is noticed late: an operator has allowed the promotion of a replica that was barred before.
	candidatesFor = 10 * time.Second
	// leadsFor is the time for which it is cached that a single server's replica may become master, or cannot be
	// asked.
	leadsFor = time.Minute
	// askWithin is the time that a replica has to answer.
	askWithin = 200 * time.Millisecond
	// electableFor is the default time for which Redis lets a replica be elected that is cut off from its master. It
	// is 175 seconds, and some for the clocks.
	electableFor = 3 * time.Minute
	// electableMore is added to a configured time, because its seconds are rounded down.
	electableMore = 5 * time.Second
)

// topology caches the failover candidates of the masters.
type topology struct {
	mu         sync.Mutex
	candidates map[string]memo[*candidates] // by master
	leads      map[string]memo[bool]        // by replica: whether it may become master
	sameNames  map[string]bool              // by master: the Cluster writes its replicas' addresses as it does
}

// memo is a cached answer.
type memo[T any] struct {
	is    T
	until time.Time
}

// candidatesOf returns a master's failover candidates, nil if the master has to be asked.
func (f *topology) candidatesOf(master string) *candidates {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.candidates[master]; time.Now().Before(m.until) {
		return m.is
	}
	return nil
}

func (f *topology) remember(master string, h *candidates) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.candidates == nil {
		f.candidates = map[string]memo[*candidates]{}
	}
	f.candidates[master] = memo[*candidates]{h, time.Now().Add(candidatesFor)}
}

func (f *topology) forget(master string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.candidates, master)
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
	r.known.mu.Lock()
	defer r.known.mu.Unlock()
	h, sure := newCandidates(found, copying, more, r.known.sameNames[master])
	if sure {
		if r.known.sameNames == nil {
			r.known.sameNames = map[string]bool{}
		}
		r.known.sameNames[master] = true
	}
	return h, nil
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
	h := &candidates{}
	for i, c := range copying {
		if leads[i] {
			h.names = append(h.names, c.name)
		} else {
			h.barred = append(h.barred, c.name)
		}
	}
	h.count = len(h.names) + more
	return h, nil
}

// mayLead asks a replica whether it may become master.
func (r *replicas) mayLead(ctx context.Context, name string) bool {
	r.known.mu.Lock()
	m := r.known.leads[name]
	r.known.mu.Unlock()
	if time.Now().Before(m.until) {
		return m.is
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	var info string
	err := r.store.OnServer(name, func(server redis.Cmdable) (err error) {
		info, err = server.Info(ctx, "replication").Result()
		return err
	})
	lines := strings.Fields(info)
	if err == nil && slices.Contains(lines, "role:slave") && slices.Contains(lines, "slave_priority:0") {
		return false // asked again with its master: an operator may change that
	}
	r.known.mu.Lock()
	defer r.known.mu.Unlock()
	if r.known.leads == nil {
		r.known.leads = map[string]memo[bool]{}
	}
	r.known.leads[name] = memo[bool]{true, time.Now().Add(leadsFor)}
	return true
}
