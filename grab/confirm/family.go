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
	// heirsFor is how long it is remembered who the heirs of a master are.
	//
	// It may change meanwhile. A replica that joins copies all that was told before it comes online, and Redis does
	// not make a replica master that has never had a copy; from when it is online ROLE has it, and it must
	// acknowledge like all others. A replica that leaves is missed at once, and then its master is asked again. What
	// is found late is only that an operator has allowed one to become master that was barred before.
	heirsFor = 10 * time.Second
	// leadsFor is how long it is remembered of a single server's replica that it may become master, or cannot be
	// asked.
	leadsFor = time.Minute
	// askWithin is how long a replica has to answer.
	askWithin = 200 * time.Millisecond
	// electableFor is how long Redis lets a replica be elected by default that hears nothing of its master: 175
	// seconds, and some for the clocks.
	electableFor = 3 * time.Minute
	// electableMore is what is added where it has been set: seconds are cut off on the way.
	electableMore = 5 * time.Second
)

// family is who the heirs of the masters are, as far as that was asked for.
type family struct {
	mu        sync.Mutex
	heirs     map[string]memo[*heirs] // by master
	leads     map[string]memo[bool]   // by replica: whether it may become master
	sameNames map[string]bool         // by master: a Cluster writes the addresses of its replicas as the master does
}

// memo is something that was asked for.
type memo[T any] struct {
	is    T
	until time.Time
}

// of are a master's heirs, nil where it has to be asked.
func (f *family) of(master string) *heirs {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.heirs[master]; time.Now().Before(m.until) {
		return m.is
	}
	return nil
}

func (f *family) remember(master string, h *heirs) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.heirs == nil {
		f.heirs = map[string]memo[*heirs]{}
	}
	f.heirs[master] = memo[*heirs]{h, time.Now().Add(heirsFor)}
}

func (f *family) forget(master string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.heirs, master)
}

// inCluster reads who the heirs are of a master of a Cluster. The Cluster knows also those whose connection is broken.
// One that it has declared dead counts until Redis bars it: until then it may come back with what it had, and be
// elected if its master is dead by then. Redis goes by how long it has heard nothing from the master, as a node of the
// Cluster and as a replica.
func (r *replicas) inCluster(ctx context.Context, k store.Keys, master, info, nodes string, now time.Time) (*heirs,
	error) {
	copying, more, err := connected(info)
	if err != nil {
		return nil, err
	}
	found, err := kinOf(nodes, now)
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
	h, sure := heirsAmong(found, copying, more, r.known.sameNames[master])
	if sure {
		if r.known.sameNames == nil {
			r.known.sameNames = map[string]bool{}
		}
		r.known.sameNames[master] = true
	}
	return h, nil
}

// electable is how long Redis lets a replica be elected that hears nothing of its master; ends is false where that has
// no end. Where Redis does not tell its settings it is the usual time.
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

// outsideCluster reads who the heirs are of a single server: the replicas that are connected to it. One with the
// priority 0 is never made master; that it says itself. Where it cannot be asked it may be one.
func (r *replicas) outsideCluster(ctx context.Context, info string) (*heirs, error) {
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
	h := &heirs{}
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
