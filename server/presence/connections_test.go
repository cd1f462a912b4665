package presence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/grab/store"
	"redrain/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// presentFor is the time for which Redis counts a node as alive after its last report, as in grab/store.
const presentFor = 15 * time.Second

// world is some nodes with one Redis.
type world struct {
	*testing.T

	mu    sync.Mutex
	away  error // of Redis
	deaf  bool  // notices are lost
	redis map[string]map[store.Connection]bool
	up    map[string]time.Time // the last reports of nodes
	slow  time.Duration        // a report takes so long, and each other one fails; 0: none
	tries int                  // reports while slow
	nodes map[string]*node
}

// node is Connections with its notices.
type node struct {
	*Connections

	w    *world
	stop func()

	mu    sync.Mutex
	has   map[string][]uint64 // by player, in the order in which they came
	among map[string]int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{T: t, redis: map[string]map[store.Connection]bool{}, up: map[string]time.Time{},
		nodes: map[string]*node{}}
}

func (w *world) Tell(_ context.Context, come, gone []store.Connection) (map[string][]store.Connection, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away != nil {
		return nil, w.away
	}
	all := map[string][]store.Connection{}
	for _, c := range come {
		if w.redis[c.User] == nil {
			w.redis[c.User] = map[store.Connection]bool{}
		}
		w.redis[c.User][c] = true
		all[c.User] = nil
	}
	for _, c := range gone {
		maps.DeleteFunc(w.redis[c.User], func(is store.Connection, _ bool) bool {
			return is.Node == c.Node && is.N == c.N
		})
		all[c.User] = nil
	}
	for user := range all {
		all[user] = slices.Collect(maps.Keys(w.redis[user]))
	}
	return all, nil
}

func (w *world) Here(_ context.Context, node string) error {
	now := time.Now()
	<-time.After(w.slow)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.slow > 0 {
		if w.tries++; w.tries%2 > 0 {
			return errors.New("away")
		}
	}
	if w.away == nil {
		w.up[node] = now
	}
	return w.away
}

func (w *world) Gone(_ context.Context, node string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.up, node)
	return w.away
}

func (w *world) Nodes(context.Context) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.up, func(_ string, at time.Time) bool { return time.Since(at) >= presentFor })
	return slices.Collect(maps.Keys(w.up)), w.away
}

// set changes how things are.
func (w *world) set(away error, deaf bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away, w.deaf = away, deaf
}

// start starts a node on which a player may have so many connections.
func (w *world) start(name string, most int) *node {
	w.Helper()
	n := &node{w: w, has: map[string][]uint64{}, among: map[string]int{}}
	n.Connections = NewConnections(ConnectionsOptions{
		Store: w, Node: name, Most: most, End: n.gone,
		Among: func(user string, nodes int) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.among[user] = nodes
		},
		Notify: func(to string, notice Notice) {
			w.mu.Lock()
			other, deaf := w.nodes[to], w.deaf
			w.mu.Unlock()
			if !deaf && other != nil {
				other.Heard(notice)
			}
		},
		Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	w.mu.Lock()
	w.nodes[name] = n
	w.mu.Unlock()
	n.stop = testenv.Run(w, n.Run)
	return n
}

// play is a player's connection.
func (n *node) play(user string, number uint64, since int64) {
	n.mu.Lock()
	n.has[user] = append(n.has[user], number)
	n.mu.Unlock()
	n.Come(context.Background(), user, number, since)
}

// gone is a connection that ends.
func (n *node) gone(user string, number uint64) {
	n.mu.Lock()
	n.has[user] = slices.DeleteFunc(n.has[user], func(is uint64) bool { return is == number })
	n.mu.Unlock()
	n.Gone(user, number)
}

// want is which connections of a player are left, and on how many nodes the player is as far as this one knows.
func (n *node) want(user string, among int, left ...uint64) {
	n.w.Helper()
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	slices.Sort(n.has[user])
	if !slices.Equal(n.has[user], left) || n.among[user] != among {
		n.w.Errorf("%s: %s has %v and is on %d nodes, want %v and %d", n.o.Node, user, n.has[user], n.among[user], left,
			among)
	}
}

func TestTheNewestStayOverTwoNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a, b := w.start("a", 2), w.start("b", 2)
		a.play("u", 1, 100)
		a.want("u", 1, 1)
		b.play("u", 1, 200)
		a.want("u", 2, 1)
		b.want("u", 2, 1)
		b.play("other", 2, 250)
		b.play("u", 3, 300)
		a.want("u", 1)
		b.want("u", 1, 1, 3)
		a.play("u", 2, 400)
		a.want("u", 2, 2)
		b.want("u", 2, 3)
		b.want("other", 1, 2)
		b.gone("u", 3)
		a.want("u", 1, 2)
		b.gone("u", 3) // again
		for i := range uint64(3) {
			a.play("u", 10+i, 500)
		}
		a.want("u", 1, 11, 12) // of one moment those that came last
		testenv.Equal(t, testutil.ToFloat64(a.ended)+testutil.ToFloat64(b.ended), 4, "ended connections")
	})
}

// However many come at once, on whichever nodes: as many are left as may be, and those are the newest.
func TestNoRaceEndsMoreThanTooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nodes, each, most = 3, 20, 4
		w := newWorld(t)
		var all []*node
		for i := range nodes {
			all = append(all, w.start(fmt.Sprint("n", i), most))
		}
		synctest.Wait()
		var coming sync.WaitGroup
		for i, n := range all {
			for k := range uint64(each) {
				coming.Go(func() { n.play("u", k, int64(100*k)+int64(i)) })
			}
		}
		coming.Wait()
		all[0].want("u", nodes, each-1)
		all[1].want("u", nodes, each-1)
		all[2].want("u", nodes, each-2, each-1)
	})
}

// Without Redis a node counts its own; when Redis is back, over all.
func TestWithoutRedisEachNodeCountsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a, b := w.start("a", 2), w.start("b", 2)
		synctest.Wait()
		w.set(errors.New("away"), false)
		for i := range uint64(3) {
			a.play("u", i, int64(i))
		}
		b.play("u", 7, 10)
		a.want("u", 0, 1, 2)
		b.want("u", 0, 7)
		a.gone("u", 1)
		a.play("u", 4, 11)
		w.set(nil, false)
		<-time.After(2 * hereEvery)
		a.want("u", 2, 4)
		b.want("u", 2, 7)
		b.gone("u", 7)
		a.want("u", 1, 4)
	})
}

// A notice that is lost is made up for; so is a Redis that has forgotten everything.
func TestWhatIsLostIsMadeUpFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a, b := w.start("a", 1), w.start("b", 1)
		a.play("u", 1, 100)
		w.set(nil, true)
		b.play("u", 1, 200)
		a.want("u", 1, 1)
		<-time.After(keepEvery + hereEvery)
		a.want("u", 1)
		w.set(nil, false)
		w.mu.Lock()
		clear(w.redis)
		w.mu.Unlock()
		<-time.After(keepEvery + hereEvery)
		a.play("u", 2, 300)
		b.want("u", 1)
		a.want("u", 1, 2)
	})
}

// An idle node stays alive if each other report fails, however slow the reports are.
func TestAnIdleNodeStaysAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.start("a", 2)
		a.play("u", 1, 100)
		synctest.Wait()
		w.slow = 100 * time.Millisecond
		for i := range 600 {
			<-time.After(hereEvery / 50)
			if nodes, _ := w.Nodes(t.Context()); len(nodes) != 1 {
				t.Fatalf("the node is gone after %v", time.Duration(i)*hereEvery/50)
			}
		}
	})
}

// The connections of a node that has gone count no more.
func TestANodeThatHasGoneHasNoConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a, b := w.start("a", 2), w.start("b", 2)
		a.play("u", 1, 100)
		b.play("u", 1, 200)
		b.play("v", 2, 200)
		a.want("u", 2, 1)
		b.stop()
		<-time.After(hereEvery)
		a.play("u", 2, 300)
		a.want("u", 1, 1, 2)
		b.play("v", 3, 400) // enters while its node ends, and does not wait
		c := w.start("c", 2)
		c.play("u", 9, 400)
		a.want("u", 2, 2)
		c.want("u", 2, 9)
	})
}
