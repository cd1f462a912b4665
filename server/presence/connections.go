package presence

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/grab/store"
	"redrain/internal/loop"
)

const (
	// hereEvery is the interval at which a node with players reports that it is alive, and reads the other live nodes.
	hereEvery = 5 * time.Second
	// keepEvery is the interval at which a node writes all connections again. It is far less than Redis keeps them.
	keepEvery = 2 * time.Minute
)

// Store keeps every player's connections, over all nodes. [store.Connections] implements it.
type Store interface {
	Tell(ctx context.Context, come, gone []store.Connection) (map[string][]store.Connection, error)
	Here(ctx context.Context, node string) error
	Gone(ctx context.Context, node string) error
	Nodes(ctx context.Context) ([]string, error)
}

// Notice informs a node about a player who is also on the sending node.
type Notice struct {
	User  string   `json:"user"`
	Nodes int      `json:"nodes"`         // on which the player is
	End   []uint64 `json:"end,omitempty"` // the node's connections of the player that are too many
}

// ConnectionsOptions are the settings of Connections. All are required unless stated otherwise.
type ConnectionsOptions struct {
	Store Store
	Node  string
	Most  int // connections that a player may have; 0: no limit
	// End ends a connection of this node. Among gets the number of nodes of a player of this node. Notify sends a
	// notice to another node. None of them may wait.
	End        func(user string, n uint64)
	Among      func(user string, nodes int)
	Notify     func(node string, n Notice)
	Recoverer  *loop.Recoverer // nil: panics are logged only
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Connections tracks the connections of this node's players. Its Run must be started, once.
type Connections struct {
	o     ConnectionsOptions
	ended prometheus.Counter
	here  *Tracker[string, connection] // this node's, by player

	mu     sync.Mutex
	hereAt time.Time // when this node has last reported that it is alive

	// used by Flush only
	nodes  map[string]bool // whether a node is alive
	readAt time.Time       // when nodes was read
}

// connection is one of this node.
type connection struct {
	n     uint64
	since int64 // Unix ms
}

// NewConnections returns Connections without connections.
func NewConnections(o ConnectionsOptions) *Connections {
	c := &Connections{o: o, ended: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "redrain_too_many_connections_total",
		Help: "Connections of this node that were ended because their player has made newer ones.",
	})}
	o.Registerer.MustRegister(c.ended)
	c.here = NewTracker(Options[string, connection]{
		Part: "connections", Work: "write players' connections for other nodes; counting only this node's",
		Flush: c.flush, Every: keepEvery, Recoverer: o.Recoverer, Log: o.Log,
	})
	return c
}

// Come adds a connection of this node, and calls End and Among as needed before it returns. If Redis does not answer in
// time, it uses this node's connections only.
func (c *Connections) Come(ctx context.Context, user string, n uint64, since int64) {
	written := c.here.enter(user, connection{n, since})
	var own []store.Connection
	for _, one := range c.here.Members(user) {
		own = append(own, c.stored(user, one))
	}
	for _, old := range c.tooMany(own) {
		c.end(user, old.N)
	}
	c.here.wait(ctx, written)
}

// stored returns a connection of this node in the form for Redis.
func (c *Connections) stored(user string, one connection) store.Connection {
	return store.Connection{User: user, Node: c.o.Node, N: one.n, Since: one.since}
}

// Gone undoes Come.
func (c *Connections) Gone(user string, n uint64) { c.remove(user, n) }

// remove takes a connection of this node off the list. It reports whether the connection was there.
func (c *Connections) remove(user string, n uint64) bool {
	for _, one := range c.here.Members(user) {
		if one.n == n {
			return c.here.Leave(user, one, Left)
		}
	}
	return false
}

// Heard applies a notice of another node.
func (c *Connections) Heard(n Notice) {
	for _, number := range n.End {
		c.end(n.User, number)
	}
	c.o.Among(n.User, n.Nodes)
}

// end ends a connection of this node, once.
func (c *Connections) end(user string, n uint64) {
	if c.remove(user, n) {
		c.ended.Inc()
		c.o.End(user, n)
	}
}

// Run writes this node's connections, until ctx ends.
func (c *Connections) Run(ctx context.Context) error {
	err := c.here.Run(ctx, loop.Spec{Part: "connections", Every: hereEvery, Within: flushWithin,
		Do: c.reportAlive, Recoverer: c.o.Recoverer, Log: c.o.Log})
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushWithin)
	defer cancel()
	if err := c.o.Store.Gone(last, c.o.Node); err != nil {
		c.o.Log.Debug("remove this node from the live nodes; it expires by itself", "err", err)
	}
	return err
}

// reportAlive reports that this node is alive, if it has players and has not just done so in a flush.
func (c *Connections) reportAlive(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.here.Groups() == 0 || time.Since(c.hereAt) < hereEvery/2 {
		return nil
	}
	now := time.Now() // the report takes time
	if err := c.o.Store.Here(ctx, c.o.Node); err != nil {
		return err
	}
	c.hereAt = now
	return nil
}

// flush writes connections, and applies the limits to all connections of their players.
func (c *Connections) flush(ctx context.Context, changes []Change[string, connection]) error {
	if err := c.reportAlive(ctx); err != nil {
		return err
	}
	var come, gone []store.Connection
	for _, change := range changes {
		one := c.stored(change.Group, change.Member)
		if change.State == Here {
			come = append(come, one)
		} else {
			gone = append(gone, one)
		}
	}
	all, err := c.o.Store.Tell(ctx, come, gone)
	if err != nil {
		return err
	}
	for user, list := range all {
		if err := c.readNodes(ctx, list); err != nil {
			return err
		}
		c.conclude(user, c.alive(list))
	}
	return nil
}

// readNodes reads the live nodes if that was not done lately, or if a connection is of an unknown node.
func (c *Connections) readNodes(ctx context.Context, list []store.Connection) error {
	isNew := func(one store.Connection) bool {
		_, isKnown := c.nodes[one.Node]
		return !isKnown && one.Node != c.o.Node
	}
	isStale := time.Since(c.readAt) >= hereEvery
	if !isStale && !slices.ContainsFunc(list, isNew) {
		return nil
	}
	names, err := c.o.Store.Nodes(ctx)
	if err != nil {
		return err
	}
	if isStale {
		c.nodes, c.readAt = map[string]bool{}, time.Now()
	}
	for _, one := range list {
		c.nodes[one.Node] = false // unless it is in names; it is not looked for again soon
	}
	for _, name := range names {
		c.nodes[name] = true
	}
	return nil
}

// alive returns those of a player's connections that still exist: of other nodes that are alive, and of this node those
// that it has. Orphaned connections of this node are removed from Redis.
func (c *Connections) alive(list []store.Connection) []store.Connection {
	return slices.DeleteFunc(list, func(one store.Connection) bool {
		if one.Node != c.o.Node {
			return !c.nodes[one.Node]
		}
		own := connection{one.N, one.Since}
		has := c.here.Has(one.User, own)
		if !has {
			c.here.Disown(one.User, own)
		}
		return !has
	})
}

// tooMany returns the oldest of a player's connections, those above the limit.
func (c *Connections) tooMany(list []store.Connection) []store.Connection {
	if c.o.Most == 0 || len(list) <= c.o.Most {
		return nil
	}
	slices.SortFunc(list, func(a, b store.Connection) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Node, b.Node), cmp.Compare(a.N, b.N))
	})
	return list[:len(list)-c.o.Most]
}

// conclude ends a player's connections above the limit, and reports the number of the player's nodes to each of them.
func (c *Connections) conclude(user string, list []store.Connection) {
	tooMany := c.tooMany(list)
	staying := map[string]bool{}
	for _, one := range list[len(tooMany):] {
		staying[one.Node] = true
	}
	notices := map[string]Notice{}
	for node := range staying {
		notices[node] = Notice{User: user, Nodes: len(staying)}
	}
	for _, one := range tooMany {
		n := notices[one.Node]
		notices[one.Node] = Notice{User: user, Nodes: len(staying), End: append(n.End, one.N)}
	}
	for node, n := range notices {
		if node == c.o.Node {
			c.Heard(n)
		} else {
			c.o.Notify(node, n)
		}
	}
}
