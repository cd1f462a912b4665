package cluster

import (
	"context"
	"hash/fnv"
	"log/slog"

	"github.com/nats-io/nats.go"

	"redrain/internal/loop"
	"redrain/server/presence"
)

// Only nodes that have players of a settlement are notified of it: with hundreds of nodes, each would otherwise receive
// everything. Players are split into groups, a subject for each, and a node listens to the groups of its players. There
// are so many groups that the players of one are on few nodes. If few nodes have players, packed.go sends notices
// otherwise.

// group returns the last part of the subject of a player's settlements.
func group(user string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(user))
	sum := h.Sum32()
	sum = (sum ^ sum>>16) & 0xffff // the folded half
	const digits = "0123456789abcdef"
	return string([]byte{digits[sum>>12], digits[sum>>8&15], digits[sum>>4&15], digits[sum&15]})
}

// heardAtOnce is the number of notices that may wait. Further ones are lost, as any message of the bus may be.
const heardAtOnce = 1 << 15

// Audience subscribes to the settlements of this node's players.
//
// The NATS client blocks its caller while NATS is slow. So callers only count players under a lock. One goroutine
// subscribes to all new groups at once.
type Audience struct {
	bus       *Bus
	hear      func(campaign string, n Settled)
	recoverer *loop.Recoverer
	log       *slog.Logger
	heard     chan *nats.Msg // of all groups: a goroutine for each would cost more than its players' connections
	groups    *presence.Tracker[struct{}, string]

	// used by follow only
	subscriptions map[string]*nats.Subscription // by group
	all           *nats.Subscription            // to the notices to all nodes; nil without players
}

// NewAudience returns an audience without players. hear is called with each notice and must not wait. Run must be
// started, once.
func NewAudience(bus *Bus, recoverer *loop.Recoverer, hear func(campaign string, n Settled)) *Audience {
	a := &Audience{bus: bus, hear: hear, recoverer: recoverer, log: bus.log, heard: make(chan *nats.Msg, heardAtOnce),
		subscriptions: map[string]*nats.Subscription{}}
	a.groups = presence.NewTracker(presence.Options[struct{}, string]{
		Part: "audience", Work: "subscribe to settlements of new players; their next welcome has them",
		Flush: a.follow, Recoverer: recoverer, Log: bus.log,
	})
	return a
}

// Run passes received notices on until ctx ends.
func (a *Audience) Run(ctx context.Context) error {
	return a.groups.Run(ctx, loop.Spec{Part: "audience", Do: a.handle, Recoverer: a.recoverer, Log: a.log})
}

func (a *Audience) handle(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case m := <-a.heard:
			a.bus.receive(m, func(data []byte) {
				if n, err := readSettled(data); a.bus.readable(m.Subject, err) {
					a.recoverer.Do("audience", func() { a.hear(n.Campaign, n) })
				}
			})
		}
	}
}

// Join subscribes to a player's settlements. When it returns, the servers of NATS have the subscription. If NATS is
// away, Join returns all the same, and notices arrive once it is back. A player whose group is just being subscribed to
// waits for that as well.
func (a *Audience) Join(ctx context.Context, user string) {
	a.groups.Enter(ctx, struct{}{}, group(user))
}

// Leave undoes Join.
func (a *Audience) Leave(user string) { a.groups.Leave(struct{}{}, group(user), presence.Left) }

// follow subscribes to groups that have players now, and unsubscribes from those that have none any more. It waits for
// NATS only if a group has come.
func (a *Audience) follow(ctx context.Context, changes []presence.Change[struct{}, string]) error {
	hasCome := false
	for _, change := range changes {
		isHere := change.State == presence.Here
		a.listen(change.Member, isHere)
		hasCome = hasCome || isHere
	}
	a.all = a.listenTo(a.all, a.bus.subject(topicPacked, "*"), a.groups.Count(struct{}{}) > 0)
	if !hasCome || a.bus.nc.Status() != nats.CONNECTED {
		return nil // NATS's client sends all subscriptions when it is back
	}
	return a.bus.nc.FlushWithContext(ctx)
}

func (a *Audience) listen(group string, isWanted bool) {
	sub := a.listenTo(a.subscriptions[group], a.bus.subject(topicSettled, group), isWanted)
	if sub == nil {
		delete(a.subscriptions, group)
	} else {
		a.subscriptions[group] = sub
	}
}

// listenTo subscribes to a subject or unsubscribes from it, unless that was done already. It returns the subscription;
// nil for none.
func (a *Audience) listenTo(is *nats.Subscription, subject string, isWanted bool) *nats.Subscription {
	if isWanted == (is != nil) {
		return is
	}
	if !isWanted {
		if err := is.Unsubscribe(); err != nil {
			a.log.Debug("unsubscribe from settlements", "subject", subject, "err", err)
		}
		return nil
	}
	sub, err := a.bus.nc.ChanSubscribe(subject, a.heard)
	if err != nil { // the connection is closed for good: this process ends
		a.log.Debug("subscribe to settlements", "subject", subject, "err", err)
		return nil
	}
	return sub
}
