package cluster

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"redrain/grab/store"
	"redrain/internal/loop"
	"redrain/payout/ledger"
	"redrain/rain"
)

const (
	// RedisLease is the lease of the Redis of this installation. Its holder is "<name of the Redis> <namespace>". Any
	// node that sees this Redis renews it. So another Redis can take its place only when no node sees it.
	RedisLease = "redis"
	// historyLease begins the name of the lease of a master's replication id. Any node that sees the master renews it.
	historyLease = "history "
	// seenFor is the time for which a Redis counts as seen.
	seenFor = 5 * time.Second
	// lookEvery is the interval of the looks. A lease is renewed in its second half.
	lookEvery = time.Second
	// lookWithin bounds one look.
	lookWithin = 3 * time.Second
	// alarmAfter is the time until the alarm about an empty Redis: a lost one is replaced before.
	alarmAfter = 2 * seenFor
	// alarmEvery is the interval in which alarms are repeated while they last.
	alarmEvery = 2 * time.Second
)

// Identity is the name of Redis in Redis. [store.Identity] implements it.
type Identity interface {
	Read(ctx context.Context) (name string, histories []string, err error)
	Set(ctx context.Context, name string) error
}

// Guard stops all commands to Redis while it is shut. [store.Guard] implements it.
type Guard interface {
	Shut(reason string)
	Open()
}

// SeenLeases are the leases of the nodes' observations. [ledger.Leases] implements it.
type SeenLeases interface {
	Lease(ctx context.Context, name, holder string, ttl time.Duration) (ledger.Tenure, error)
	Holder(ctx context.Context, name string) (holder string, until int64, err error)
	ReleaseLease(ctx context.Context, name, holder string) error
}

// InstallationOptions are the settings of an Installation. All are required unless they say otherwise.
type InstallationOptions struct {
	Identity  Identity
	Guard     Guard
	Leases    SeenLeases
	Namespace string
	// Alone means that no other node can use this ledger: Redis is this process's own, and so is the database.
	Alone bool
	// Histories makes this node report the masters that it sees. --confirm stream needs it.
	Histories bool
	// Alarm reports a condition, again and again while it lasts. isNew is true when it begins.
	Alarm     func(code, campaign, message string, isNew bool)
	Clock     rain.Clock
	Recoverer *loop.Recoverer // nil: panics are logged only
	Log       *slog.Logger
}

// Installation compares the Redis that this node sees with the one in the ledger. If it is another one, nothing is read
// from it or written to it: its stock is not this installation's, and its losses are none. For this node, Redis is away
// then. A Redis without a name is new or has lost its data. It takes the place of the one in the ledger when no node
// has seen that one for five seconds.
type Installation struct {
	o InstallationOptions

	mu      sync.Mutex
	history string    // of the Redis in the ledger, when it was last seen here
	shut    time.Time // since when the guard is shut; zero: it is open
	stale   int64     // end of the ledger's lease, as it was first read while another Redis is here
	since   time.Time // of that reading

	alarms sync.Mutex
	raised map[string]time.Time // when an alarm was raised last, by its code and campaign
}

// NewInstallation returns an Installation, which leaves the guard as it is until Look.
func NewInstallation(o InstallationOptions) *Installation {
	return &Installation{o: o, raised: map[string]time.Time{}}
}

// Run looks periodically until ctx ends.
func (i *Installation) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "installation", Work: "compare Redis with the ledger's; the last result holds",
		Every: lookEvery, Do: i.Look, Recoverer: i.o.Recoverer, Log: i.o.Log})
}

// Look compares once. If Redis or the ledger does not answer, it fails, and the guard stays as it is. It returns
// store.ErrOtherRedis if the guard is shut.
func (i *Installation) Look(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	name, histories, err := i.o.Identity.Read(ctx)
	if err != nil {
		return err
	}
	holder, until, err := i.o.Leases.Holder(ctx, RedisLease)
	if err != nil {
		i.since = time.Time{}
		return err
	}
	if reason := Mismatch(name, holder, i.o.Namespace); reason != "" {
		return i.close(reason, true)
	}
	known, _, _ := strings.Cut(holder, " ")
	switch {
	case name != "" && name == known:
		i.open(histories[0])
		err = i.renew(ctx, RedisLease, holder, until)
	case name == "" && known != "" && histories[0] != "" && histories[0] == i.history:
		return i.o.Identity.Set(ctx, known) // the same server was emptied
	case known == "" || i.o.Alone || i.isUnseen(until):
		return i.adopt(ctx, name, holder)
	default:
		isLasting := !i.shut.IsZero() && time.Since(i.shut) > alarmAfter
		return i.close(fmt.Sprintf("it is empty, and other nodes see the ledger's redis %s, or have seen it "+
			"seconds ago", known), isLasting)
	}
	if err == nil && i.o.Histories {
		err = i.report(ctx, histories)
	}
	return err
}

// Mismatch returns the reason why a node with a namespace does not use a Redis with a name. The holder is that of the
// RedisLease. Mismatch returns "" if the node uses the Redis, or may adopt it.
func Mismatch(name, holder, namespace string) string {
	known, its, _ := strings.Cut(holder, " ")
	switch {
	case holder != "" && its != namespace:
		return fmt.Sprintf("this node has --namespace %s, and the ledger belongs to --namespace %s", namespace, its)
	case name != "" && known != "" && name != known:
		return fmt.Sprintf("it has the name %s, and the ledger's redis is %s: correct --redis of the node with the "+
			"wrong one, and empty none before you have read about the alarm other_redis", name, known)
	}
	return ""
}

// adopt makes the Redis of this node the one in the ledger, in the place of the holder of the lease. The ledger comes
// first: a Redis with a name that the ledger never had could not be adopted later.
func (i *Installation) adopt(ctx context.Context, name, was string) error {
	isNew := name == ""
	if isNew {
		name = rand.Text()
	}
	if i.o.Alone { // only an earlier process can have the lease
		if err := i.o.Leases.ReleaseLease(ctx, RedisLease, was); err != nil {
			return err
		}
	}
	t, err := i.o.Leases.Lease(ctx, RedisLease, name+" "+i.o.Namespace, seenFor)
	if err != nil {
		return err
	}
	if !t.Held() {
		return i.close("another node has named the ledger's redis at this moment", false)
	}
	i.o.Log.Info("redis has a name in this installation", "name", name)
	if isNew {
		if err := i.o.Identity.Set(ctx, name); err != nil {
			return err
		}
	}
	i.open("")
	return nil
}

// isUnseen reports whether the ledger's Redis was seen by no node for seenFor while this node was looking. The end of
// its lease alone does not suffice: no node can renew it while the database is away.
func (i *Installation) isUnseen(until int64) bool {
	if until != i.stale || i.since.IsZero() {
		i.stale, i.since = until, time.Now()
	}
	return time.Since(i.since) > seenFor && !i.isAhead(until)
}

// open opens the guard.
func (i *Installation) open(history string) {
	if !i.shut.IsZero() {
		i.o.Log.Info("this node sees the redis of its installation again")
	}
	i.history, i.shut, i.since = history, time.Time{}, time.Time{}
	i.o.Guard.Open()
}

// close shuts the guard, and raises the alarm if the fault does not end by itself.
func (i *Installation) close(reason string, alarm bool) error {
	i.o.Guard.Shut(reason)
	if i.shut.IsZero() {
		i.shut = time.Now()
		i.o.Log.Error("this node does not use its redis", "reason", reason)
	}
	if alarm {
		i.alarm("other_redis", "", "a node does not use its redis, and its players' taps are unavailable: "+reason)
	}
	return fmt.Errorf("%w: %s", store.ErrOtherRedis, reason)
}

// renew renews a lease in its second half, so that many nodes write little.
func (i *Installation) renew(ctx context.Context, name, holder string, until int64) error {
	if left := until - i.o.Clock(); left > seenFor.Milliseconds()/2 && left <= longestSeen {
		return nil
	}
	_, err := i.o.Leases.Lease(ctx, name, holder, seenFor)
	return err
}

// report renews the leases of the masters that this node sees.
func (i *Installation) report(ctx context.Context, histories []string) error {
	for _, history := range histories {
		if history == "" {
			continue
		}
		_, until, err := i.o.Leases.Holder(ctx, historyLease+history)
		if err == nil {
			err = i.renew(ctx, historyLease+history, "seen", until)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// IsSeen implements confirm.Others. If the ledger cannot be asked, the master counts as seen.
func (i *Installation) IsSeen(ctx context.Context, history string) bool {
	_, until, err := i.o.Leases.Holder(ctx, historyLease+history)
	return err != nil || i.isAhead(until)
}

// longestSeen is the most that the end of a lease is ahead, in ms. If it is further, the cluster's time was wrong when
// the lease was written; then it counts as ended.
const longestSeen = 2 * int64(seenFor/time.Millisecond)

// isAhead reports whether a lease has not ended.
func (i *Installation) isAhead(until int64) bool {
	left := until - i.o.Clock()
	return left > 0 && left <= longestSeen
}

// Superseded implements confirm.Others.
func (i *Installation) Superseded(campaign string, shard int) {
	i.alarm("redis_superseded", campaign, fmt.Sprintf("a node's redis has an old copy of shard %d, and another "+
		"master holds it; the node confirms no wins on it, and looks for the other one", shard))
}

// alarm raises or repeats an alarm. A condition that pauses for longer than it lasts is new.
func (i *Installation) alarm(code, campaign, message string) {
	i.alarms.Lock()
	defer i.alarms.Unlock()
	last := i.raised[code+campaign]
	if time.Since(last) < alarmEvery {
		return
	}
	i.raised[code+campaign] = time.Now()
	i.o.Alarm(code, campaign, message, time.Since(last) > conditionLasts)
}
