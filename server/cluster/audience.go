package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"redrain/internal/rounds"
)

// Settlements are told to those nodes only that have players of theirs: with hundreds of nodes, each would else
// hear of everybody. Players are parted in groups, a subject for each, and a node listens to those of its players.
// The groups are so many that the players of one are on few nodes.

// group is the last part of the subject that a player's settlements are told on.
func group(user string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(user))
	sum := h.Sum32()
	return fmt.Sprintf("%04x", uint16(sum^sum>>16)) //nolint:gosec // the folded half
}

// heardAtOnce is how many notices may wait to be handled. What does not fit is lost, as any message of the bus may be.
const heardAtOnce = 1 << 14

// Audience is the players of this node, as far as settlements are told to them.
type Audience struct {
	bus   *Bus
	hear  func(campaign string, n Settled)
	guard *rounds.Guard
	log   *slog.Logger
	heard chan *nats.Msg // of all groups: a goroutine for each would cost more than its players' connections

	mu     sync.Mutex
	groups map[string]*listeners
}

// listeners are a group's players on this node.
type listeners struct {
	players int
	sub     *nats.Subscription
}

// NewAudience makes an audience without players. hear is called with what is told to them; it must not wait. Its
// Run must be started.
func NewAudience(bus *Bus, guard *rounds.Guard, hear func(campaign string, n Settled)) *Audience {
	return &Audience{bus: bus, hear: hear, guard: guard, log: bus.log, heard: make(chan *nats.Msg, heardAtOnce),
		groups: map[string]*listeners{}}
}

// Run hands on what is heard until ctx ends.
func (a *Audience) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case m := <-a.heard:
			a.guard.Do("audience", func() { a.handle(m) })
		}
	}
}

func (a *Audience) handle(m *nats.Msg) {
	var n Settled
	if err := json.Unmarshal(m.Data, &n); err != nil {
		a.log.Warn("a settlement that is told cannot be read; are all nodes of one version?", "subject", m.Subject,
			"err",
			err)
		return
	}
	a.hear(n.Campaign, n)
}

// joinWithin is how long Join waits for NATS at most.
const joinWithin = 500 * time.Millisecond

// Join lets a player hear what is settled from now on. When it returns, the servers of NATS know it; where they are
// away, the player hears as soon as they are back, and comes in all the same.
func (a *Audience) Join(ctx context.Context, user string) {
	if !a.count(user) || a.bus.nc.Status() != nats.CONNECTED {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, joinWithin)
	defer cancel()
	if err := a.bus.nc.FlushWithContext(ctx); err != nil {
		a.log.Debug("a player may not hear of the next settlement; the next welcome tells it", "err", err)
	}
}

// count adds a player. It tells whether it is the first of their group.
func (a *Audience) count(user string) (first bool) {
	g := group(user)
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.groups[g]
	if l == nil {
		sub, err := a.bus.nc.ChanSubscribe(a.bus.subject(topicSettled, g), a.heard)
		if err != nil { // the connection is closed for good: this process ends
			a.log.Debug("settlements are not listened to", "err", err)
			return false
		}
		l = &listeners{sub: sub}
		a.groups[g] = l
	}
	l.players++
	return l.players == 1
}

// Leave ends what Join began.
func (a *Audience) Leave(user string) {
	g := group(user)
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.groups[g]
	if l == nil {
		return
	}
	if l.players--; l.players > 0 {
		return
	}
	delete(a.groups, g)
	if err := l.sub.Unsubscribe(); err != nil {
		a.log.Debug("a group of players is still listened to", "err", err)
	}
}
