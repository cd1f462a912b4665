package admission

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"

	"redrain/grab"
	"redrain/grab/grabtest"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/rain"
)

// world is the state that a test's nodes share.
type capsWorld struct {
	*testing.T

	rdb   redis.UniversalClient
	redis *store.Addresses
	c     *rain.Campaign
	names string // the namespace
}

// guests is the key of an address's guests.
func (w *capsWorld) guests(address string) string { return w.names + ":{c1.room}:guests." + address }

func (w *capsWorld) Cached(id string) *rain.Campaign {
	if id == w.c.ID {
		return w.c
	}
	return nil
}

func newCapsWorld(t *testing.T, rdb redis.UniversalClient, packets int) *capsWorld {
	t.Helper()
	names := testenv.Namespace(t)
	s := store.New(rdb, store.Options{Namespace: names})
	c := &rain.Campaign{ID: "c1", Status: rain.Open}
	c.Packets = packets
	return &capsWorld{t, rdb, store.NewAddresses(s), c, names}
}

// node makes a node whose rounds the test makes.
func (w *capsWorld) node(name string, change func(*CapsOptions)) *Caps {
	w.Helper()
	o := CapsOptions{
		Redis: w.redis, Known: w, Node: name, Wins: 0.1, Seats: 300, Log: slog.New(slog.DiscardHandler),
		Registerer: prometheus.NewRegistry(),
	}
	if change != nil {
		change(&o)
	}
	return NewCaps(o)
}

// round does a node's work of every ten seconds. The next round repeats failed writes.
func (w *capsWorld) round(c *Caps) {
	_ = c.guests.Keep(w.Context())
	_ = c.sweep(w.Context())
}

func guest(n int) string { return fmt.Sprintf("%s%020x", rain.GuestPrefix, n) }

func (w *capsWorld) enter(c *Caps, address, user string) grab.Quota {
	w.Helper()
	a, err := c.Enter(w.Context(), w.c, address, user)
	testenv.Must(w, err)
	return a
}

// win taps, and wins each time, until the quota is used up or it has won most times. It returns the number of wins.
func (w *capsWorld) win(c *Caps, a grab.Quota, most int) (won int) {
	w.Helper()
	for tries := 0; won < most; tries++ {
		why, ok := a.Take()
		switch {
		case ok:
			a.Settle(true, true)
			won++
		case why == outcome.Limited:
			return won
		case why != outcome.Empty || tries > 100*most:
			w.Fatalf("%v after %d wins", why, won)
		default:
			if c.feed(w.Context()) != nil {
				w.Fatal("redis could not be asked")
			}
		}
	}
	return won
}

const hall = "203.0.113.7"

// One limit holds for all guests of an address, over all nodes and visits. It does not concern other addresses.
func TestAnAddressWinsItsPart(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			w := newCapsWorld(t, rdb, 400)
			one, two := w.node("n1", nil), w.node("n2", nil)
			first := w.win(one, w.enter(one, hall, guest(1)), 15)
			second := w.win(two, w.enter(two, hall, guest(2)), 1_000)
			one.Leave("c1", hall, guest(1))
			w.round(one) // frees the unused quota of one
			back := w.enter(one, hall, guest(1))
			w.round(two)
			w.round(two) // as idle as can be
			rest := w.win(one, back, 1_000)
			if first != 15 || first+second+rest != 40 {
				t.Errorf("%d, %d and %d wins, want 40 in all", first, second, rest)
			}
			for i, address := range []string{"203.0.113.8", "2001:db8::"} {
				testenv.Equal(t, w.win(two, w.enter(two, address, guest(10+i)), 20), 20, "%s: wins", address)
			}
			if n := testutil.ToFloat64(one.metrics.wins) + testutil.ToFloat64(two.metrics.wins); n < 2 {
				t.Errorf("%v refusals are counted", n)
			}
		})
	}
}

// Many nodes let an address's guests win at the same time, and together never more than it may.
func TestNoMoreHoweverManyNodes(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			w := newCapsWorld(t, rdb, 500)
			var won atomic.Int64
			var all sync.WaitGroup
			for n := range 8 {
				c := w.node(fmt.Sprint("n", n), nil)
				ctx, cancel := context.WithCancel(t.Context())
				ran := make(chan struct{})
				go func() { defer close(ran); _ = c.Run(ctx) }()
				t.Cleanup(func() { cancel(); <-ran })
				for g := range 4 {
					a := w.enter(c, hall, guest(100*n+g))
					all.Go(func() {
						for range 1_000 {
							if _, ok := a.Take(); ok {
								wins := (n+g)%2 == 0
								if wins {
									won.Add(1)
								}
								a.Settle(true, wins)
							}
						}
					})
				}
			}
			all.Wait()
			if n := won.Load(); n > 50 || n == 0 {
				t.Errorf("%d wins, want at most 50", n)
			}
		})
	}
}

// If Redis loses the wins, each node's next round restores them.
func TestRedisForgets(t *testing.T) {
	w := newCapsWorld(t, grabtest.InProcess(t), 400)
	one, two := w.node("n1", nil), w.node("n2", nil)
	a, b := w.enter(one, hall, guest(1)), w.enter(two, hall, guest(2))
	w.win(one, a, 20)
	w.win(two, b, 15)
	testenv.Must(t, w.rdb.FlushDB(t.Context()).Err())
	w.round(one)
	w.round(two)
	testenv.Equal(t, w.win(one, a, 1_000)+w.win(two, b, 1_000), 5, "more wins")
}

// A win that no Take has counted counts all the same.
func TestAnUncountedWin(t *testing.T) {
	w := newCapsWorld(t, grabtest.InProcess(t), 200)
	one := w.node("n1", nil)
	a := w.enter(one, hall, guest(1))
	for range 6 {
		a.Settle(false, true)
	}
	w.round(one)
	testenv.Equal(t, w.win(one, a, 100), 14, "more wins")
}

// Seats are counted over all nodes; who is there already, and who has left, takes none.
func TestSeats(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			w := newCapsWorld(t, rdb, 100)
			seats := func(o *CapsOptions) { o.Seats = 3 }
			one, two := w.node("n1", seats), w.node("n2", seats)
			w.enter(one, hall, guest(1))
			w.enter(one, hall, guest(1))
			w.enter(two, hall, guest(2))
			w.enter(two, hall, guest(1)) // the guest moves to another node
			w.enter(one, hall, guest(3))
			full := func(c *Caps, user string) {
				t.Helper()
				testenv.WantErr(t, testenv.Err(c.Enter(t.Context(), w.c, hall, user)), ErrAddressFull, user)
			}
			full(one, guest(4))
			full(two, guest(4))
			w.enter(two, "203.0.113.8", guest(5)) // elsewhere
			w.round(one)
			full(one, guest(4))
			one.Leave("c1", hall, guest(3))
			w.round(one)
			w.enter(two, hall, guest(4))
			full(one, guest(3))
			// If Redis loses the slots, the nodes' next rounds restore them.
			testenv.Must(t, rdb.Del(t.Context(), w.guests(hall)).Err())
			w.round(one)
			w.round(two)
			full(one, guest(6))
		})
	}
}

// Players with a token and guests of exempt networks are not limited. Without a limit nothing is limited.
func TestWhoIsBounded(t *testing.T) {
	w := newCapsWorld(t, grabtest.InProcess(t), 100)
	networks, err := ParseExempt([]string{"127.0.0.0/8", "::1", "2001:db8:1::5", "198.51.100.0/24"})
	testenv.Must(t, err)
	one := w.node("n1", func(o *CapsOptions) { o.Exempt = networks })
	for address, bounded := range map[string]bool{
		"127.0.0.1": false, "::1": false, "2001:db8:1::": false, "2001:db8:2::": true, "198.51.100.9": false,
		"198.51.101.9": true, hall: true,
	} {
		if a := w.enter(one, address, guest(1)); (a != nil) != bounded {
			t.Errorf("%s: bounded %v", address, a != nil)
		}
		if a := w.enter(one, address, "guest-of-honour"); a != nil {
			t.Errorf("%s: a player is bounded", address)
		}
	}
	free := w.node("n2", func(o *CapsOptions) { o.Wins, o.Seats = 0, 0 })
	if a := w.enter(free, hall, guest(2)); a != nil {
		t.Error("bounded where there is no limit")
	}
	if _, err := ParseExempt([]string{"everybody"}); err == nil {
		t.Error("no network is none")
	}
}

// The wins of a live campaign are kept. Those of a drained one are removed.
func TestForget(t *testing.T) {
	w := newCapsWorld(t, grabtest.InProcess(t), 400)
	one := w.node("n1", nil)
	w.win(one, w.enter(one, hall, guest(1)), 3)
	w.enter(one, "203.0.113.8", guest(2))
	one.Leave("c1", hall, guest(1))
	one.Leave("c1", "203.0.113.8", guest(2))
	w.round(one)
	w.round(one)
	testenv.Equal(t, len(one.accounts), 1, "accounts, of the address that has won")
	w.c.Drained = true
	w.round(one)
	testenv.Equal(t, len(one.accounts), 0, "accounts")
}
