package cluster

import (
	"context"
	"hash/fnv"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"redrain/internal/rounds"
)

// Settlements are told to those nodes only that have players of theirs: with hundreds of nodes, each would else
// hear of everybody. Players are parted in groups, a subject for each, and a node listens to those of its players.
// The groups are so many that the players of one are on few nodes. For few nodes there is another way: see packed.go.

// group is the last part of the subject that a player's settlements are told on.
func group(user string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(user))
	sum := h.Sum32()
	sum = (sum ^ sum>>16) & 0xffff // the folded half
	const digits = "0123456789abcdef"
	return string([]byte{digits[sum>>12], digits[sum>>8&15], digits[sum>>4&15], digits[sum&15]})
}

// heardAtOnce is how many notices may wait to be handled. What does not fit is lost, as any message of the bus may be.
const heardAtOnce = 1 << 15

// Audience is the players of this node, as far as settlements are told to them.
//
// NATS may be slow at any time, and its client then holds whoever uses it. So players are only counted, under a
// lock that is held for a moment; one goroutine subscribes to what their groups need, and asks NATS once for all
// groups that have come meanwhile.
type Audience struct {
	bus     *Bus
	hear    func(campaign string, n Settled)
	guard   *rounds.Guard
	log     *slog.Logger
	heard   chan *nats.Msg     // of all groups: a goroutine for each would cost more than its players' connections
	changed chan struct{}      // has one element while there is something in pending
	over    chan struct{}      // closed when Run has ended: nothing is listened to any more
	unknown []*listeners       // that are subscribed to, and wait for NATS; follow's own
	all     *nats.Subscription // to the notices to all nodes; nil where nobody is here; follow's own

	mu      sync.Mutex
	groups  map[string]*listeners
	pending []string // groups whose first player has come, or whose last one has gone
}

// listeners are a group's players on this node.
type listeners struct {
	players int
	known   chan struct{}      // closed when the servers of NATS know the subscription, or are away
	sub     *nats.Subscription // of the goroutine that subscribes; nil where there is none
}

// NewAudience makes an audience without players. hear is called with what is told to them; it must not wait. Its
// Run must be started, once.
func NewAudience(bus *Bus, guard *rounds.Guard, hear func(campaign string, n Settled)) *Audience {
	return &Audience{bus: bus, hear: hear, guard: guard, log: bus.log, heard: make(chan *nats.Msg, heardAtOnce),
		changed: make(chan struct{}, 1), over: make(chan struct{}), groups: map[string]*listeners{}}
}

// Run hands on what is heard until ctx ends.
func (a *Audience) Run(ctx context.Context) error {
	var subscribing sync.WaitGroup
	defer subscribing.Wait()
	subscribing.Go(func() { a.follow(ctx) })
	subscribing.Go(func() { a.stay(ctx) })
	for {
		select {
		case <-ctx.Done():
			return nil
		case m := <-a.heard:
			a.handle(m)
		}
	}
}

func (a *Audience) handle(m *nats.Msg) {
	a.bus.receive(m, func(data []byte) {
		if n, err := readSettled(data); a.bus.readable(m.Subject, err) {
			a.guard.Do("audience", func() { a.hear(n.Campaign, n) })
		}
	})
}

// joinWithin is how long Join waits for NATS at most.
const joinWithin = 500 * time.Millisecond

// Join lets a player hear what is settled from now on. When it returns, the servers of NATS know it; where they are
// away, the player hears as soon as they are back, and comes in all the same. That holds for each player of a group:
// who comes while the first one's subscription is on its way waits for it as well.
func (a *Audience) Join(ctx context.Context, user string) {
	known := a.count(user)
	ctx, cancel := context.WithTimeout(ctx, joinWithin)
	defer cancel()
	select {
	case <-known:
	case <-a.over:
	case <-ctx.Done():
		a.log.Debug("a player may not hear of the next settlement; the next welcome tells it", "err", ctx.Err())
	}
}

// count adds a player. What it returns is closed when the servers of NATS know that the player's group is listened to.
func (a *Audience) count(user string) (known <-chan struct{}) {
	g := group(user)
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.groups[g]
	if l == nil {
		l = &listeners{known: make(chan struct{})}
		a.groups[g] = l
	}
	if l.players++; l.players == 1 {
		a.change(g)
	}
	return l.known
}

// Leave ends what Join began.
func (a *Audience) Leave(user string) {
	g := group(user)
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.groups[g]
	if l == nil || l.players == 0 {
		return
	}
	if l.players--; l.players == 0 {
		a.change(g)
	}
}

// change has follow look at a group.
func (a *Audience) change(g string) {
	a.pending = append(a.pending, g)
	a.again()
}

// again has follow look once more.
func (a *Audience) again() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// follow subscribes to the groups that have players, and unsubscribes from those that have none any more, until ctx
// ends.
func (a *Audience) follow(ctx context.Context) {
	defer close(a.over)
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.changed:
			a.guard.Do("audience", func() { a.catchUp(ctx) })
		}
	}
}

// catchUp subscribes to what is pending, and tells those who wait for it when NATS knows it.
func (a *Audience) catchUp(ctx context.Context) {
	a.mu.Lock()
	groups := a.pending
	a.pending = nil
	a.mu.Unlock()
	for _, g := range groups {
		if l := a.listen(g); l != nil {
			a.unknown = append(a.unknown, l)
		}
	}
	a.listenAll()
	if len(a.unknown) == 0 {
		return
	}
	// While NATS is away nobody waits for it: its client sends all subscriptions when it is back.
	if a.bus.nc.Status() == nats.CONNECTED {
		ctx, cancel := context.WithTimeout(ctx, joinWithin)
		defer cancel()
		if err := a.bus.nc.FlushWithContext(ctx); err != nil && a.bus.nc.Status() == nats.CONNECTED {
			a.log.Debug("NATS is slow to listen for players who have come; they are told at the next welcome", "err",
				err)
			a.again()
			return
		}
	}
	for _, l := range a.unknown {
		select {
		case <-l.known: // since the connection was closed for good
		default:
			close(l.known)
		}
	}
	a.unknown = nil
}

// listen subscribes to a group or unsubscribes from it, as it has players or none. It returns the group if somebody
// waits for it.
func (a *Audience) listen(g string) *listeners {
	a.mu.Lock()
	l := a.groups[g]
	wanted := l != nil && l.players > 0
	if l != nil && !wanted {
		delete(a.groups, g) // who comes from now on begins anew
	}
	a.mu.Unlock()
	switch {
	case l == nil || wanted == (l.sub != nil):
		return nil
	case !wanted:
		if err := l.sub.Unsubscribe(); err != nil {
			a.log.Debug("a group of players is still listened to", "err", err)
		}
		return nil
	}
	sub, err := a.bus.nc.ChanSubscribe(a.bus.subject(topicSettled, g), a.heard)
	if err != nil { // the connection is closed for good: this process ends
		a.log.Debug("settlements are not listened to", "err", err)
		return l
	}
	l.sub = sub
	return l
}
