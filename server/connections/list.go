package connections

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/grab/store"
	"redrain/internal/outage"
	"redrain/internal/rounds"
)

const (
	// comeWithin is how long a newcomer waits for Redis at most. It is known to this node in any case.
	comeWithin = 500 * time.Millisecond
	// tellWithin is how long Redis has for what it is told in one go.
	tellWithin = 2 * time.Second
	// hereEvery is how often a node says that it is there, and reads which others are.
	hereEvery = 5 * time.Second
	// keepEvery is how often a node writes everything again. It is far less than Redis keeps it.
	keepEvery = 2 * time.Minute
	// keptAtOnce is how many connections are written again in one go: newcomers do not wait behind all.
	keptAtOnce = 500
)

// Store is every player's connections, over all nodes. [store.Connections] is that.
type Store interface {
	Tell(ctx context.Context, come, gone []store.Connection) (map[string][]store.Connection, error)
	Here(ctx context.Context, node string) error
	Gone(ctx context.Context, node string) error
	Nodes(ctx context.Context) ([]string, error)
}

// Notice tells a node what another has found out about a player who is on both.
type Notice struct {
	User  string   `json:"user"`
	Nodes int      `json:"nodes"`         // on which the player is
	End   []uint64 `json:"end,omitempty"` // the node's connections of the player that are too many
}

// Options of a List. All are needed but those that say so.
type Options struct {
	Store Store
	Node  string
	Most  int // connections that a player may have; 0: no limit
	// End ends a connection of this node, Among tells on how many nodes a player of this node is, Tell gives a notice
	// to another node. None of them may wait.
	End        func(user string, n uint64)
	Among      func(user string, nodes int)
	Tell       func(node string, n Notice)
	Guard      *rounds.Guard // hears of a round that panics; nil: it is logged only
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// List is the connections of the players. Its Run must be started, once.
type List struct {
	o     Options
	ended prometheus.Counter
	wake  chan struct{} // has one element while something is pending
	over  chan struct{} // closed when Run has ended: nobody is told any more

	mu      sync.Mutex
	here    map[string]map[uint64]int64 // this node's, by player: since when
	pending pending

	// of Run's goroutine
	nodes   map[string]bool      // that are there
	missing map[string]time.Time // nodes that are not, and when they are looked for again
	keepAt  time.Time            // when everything is written again
}

// pending is what Redis was not told yet.
type pending struct {
	come, gone []store.Connection
	waiting    []chan struct{} // closed when it was told, or could not be
}

// New makes a list of nobody.
func New(o Options) *List {
	l := &List{
		o: o, wake: make(chan struct{}, 1), over: make(chan struct{}), here: map[string]map[uint64]int64{},
		nodes: map[string]bool{}, missing: map[string]time.Time{},
		ended: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "redrain_too_many_connections_total",
			Help: "Connections of this node that were ended because their player has made newer ones.",
		}),
	}
	o.Registerer.MustRegister(l.ended)
	return l
}

// Come notes a connection of this node. When it returns, what follows from it holds; where Redis does not answer in
// time, only what this node knows itself.
func (l *List) Come(ctx context.Context, user string, n uint64, since int64) {
	told := make(chan struct{})
	l.mu.Lock()
	if l.here[user] == nil {
		l.here[user] = map[uint64]int64{}
	}
	l.here[user][n] = since
	tooMany := l.tooManyOf(l.ownOf(user))
	l.pending.come = append(l.pending.come, store.Connection{User: user, Node: l.o.Node, N: n, Since: since})
	l.pending.waiting = append(l.pending.waiting, told)
	l.mu.Unlock()
	for _, c := range tooMany {
		l.end(c.User, c.N)
	}
	l.again()
	ctx, cancel := context.WithTimeout(ctx, comeWithin)
	defer cancel()
	select {
	case <-told:
	case <-l.over:
	case <-ctx.Done():
		l.o.Log.Debug("a player's connections on other nodes are not known yet", "err", ctx.Err())
	}
}

// Gone ends what Come began.
func (l *List) Gone(user string, n uint64) {
	l.remove(user, n)
}

// remove takes a connection of this node off the list. was tells whether it was there.
func (l *List) remove(user string, n uint64) (was bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, was = l.here[user][n]; !was {
		return false
	}
	delete(l.here[user], n)
	if len(l.here[user]) == 0 {
		delete(l.here, user)
	}
	l.pending.gone = append(l.pending.gone, store.Connection{User: user, Node: l.o.Node, N: n})
	l.again()
	return true
}

// Heard takes a notice of another node.
func (l *List) Heard(n Notice) {
	for _, number := range n.End {
		l.end(n.User, number)
	}
	l.o.Among(n.User, n.Nodes)
}

// again has Run look at what is pending.
func (l *List) again() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// end ends a connection of this node, once.
func (l *List) end(user string, n uint64) {
	if l.remove(user, n) {
		l.ended.Inc()
		l.o.End(user, n)
	}
}

// ownOf are a player's connections of this node. It needs l.mu.
func (l *List) ownOf(user string) []store.Connection {
	list := make([]store.Connection, 0, len(l.here[user]))
	for n, since := range l.here[user] {
		list = append(list, store.Connection{User: user, Node: l.o.Node, N: n, Since: since})
	}
	return list
}

// Run tells Redis who comes and goes, until ctx ends.
func (l *List) Run(ctx context.Context) error {
	defer close(l.over)
	tick := time.NewTicker(hereEvery)
	defer tick.Stop()
	redis := outage.Outage{What: "telling other nodes of players' connections; counting only this node's", Log: l.o.Log}
	l.keepAt = time.Now().Add(keepEvery)
	round := func(what func(context.Context) error) {
		err := l.o.Guard.Try("connections", func() error { return what(ctx) })
		redis.Ended(ctx, err)
		if err != nil {
			l.keepAt = time.Time{} // at the next tick
		}
	}
	round(l.present)
	for {
		select {
		case <-ctx.Done():
			l.leave(ctx)
			return nil
		case <-l.wake:
			round(l.flush)
		case <-tick.C:
			round(l.present)
			if !time.Now().Before(l.keepAt) {
				l.keepAt = time.Now().Add(keepEvery)
				round(l.keep)
			}
		}
	}
}

// leave says that this node has no connections any more.
func (l *List) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellWithin)
	defer cancel()
	if err := l.o.Store.Gone(ctx, l.o.Node); err != nil {
		l.o.Log.Debug("the other nodes find out that this one has gone", "err", err)
	}
}

// present says that this node is there, and reads which others are.
func (l *List) present(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	if err := l.o.Store.Here(ctx, l.o.Node); err != nil {
		return err
	}
	return l.readNodes(ctx)
}

func (l *List) readNodes(ctx context.Context) error {
	names, err := l.o.Store.Nodes(ctx)
	if err != nil {
		return err
	}
	clear(l.nodes)
	for _, name := range names {
		l.nodes[name] = true
		delete(l.missing, name)
	}
	now := time.Now()
	maps.DeleteFunc(l.missing, func(_ string, until time.Time) bool { return !now.Before(until) })
	return nil
}

// flush tells Redis what is pending. Who has gone is told of again where that fails; who has come is written again with
// everybody.
func (l *List) flush(ctx context.Context) error {
	l.mu.Lock()
	now := l.pending
	l.pending = pending{}
	l.mu.Unlock()
	defer func() {
		for _, told := range now.waiting {
			close(told)
		}
	}()
	err := l.tell(ctx, now.come, now.gone)
	if err != nil {
		l.mu.Lock()
		l.pending.gone = append(now.gone, l.pending.gone...)
		l.mu.Unlock()
	}
	return err
}

// keep writes all connections of this node again, and tells what was pending.
func (l *List) keep(ctx context.Context) error {
	l.mu.Lock()
	var all []store.Connection
	for user := range l.here {
		all = append(all, l.ownOf(user)...)
	}
	l.mu.Unlock()
	for some := range slices.Chunk(all, keptAtOnce) {
		if err := l.tell(ctx, some, nil); err != nil {
			return err
		}
		if err := l.flush(ctx); err != nil {
			return err
		}
	}
	return l.flush(ctx)
}

// tell tells Redis of some connections, and does what follows from all those of their players.
func (l *List) tell(ctx context.Context, come, gone []store.Connection) error {
	if len(come)+len(gone) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	all, err := l.o.Store.Tell(ctx, come, gone)
	if err != nil {
		return err
	}
	for user, list := range all {
		if err := l.know(ctx, list); err != nil {
			return err
		}
		l.conclude(user, l.there(list))
	}
	return nil
}
