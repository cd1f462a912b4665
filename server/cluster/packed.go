package cluster

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"redrain/internal/rounds"
	"redrain/payout/ledger/posting"
)

// A notice for each group of players costs its message, its seals and NATS more than what it says. So where few nodes
// have players, each of them hears of all settlements, in notices of many players, and passes over those of others.
// How many there are is counted in Redis. A count that is wrong for a while costs work and loses nothing: a node
// listens to both.

// Nodes counts the nodes that have players.
type Nodes interface {
	// Here says that a node has players.
	Here(ctx context.Context, node string) error
	// Present is how many have said so of late.
	Present(ctx context.Context) (int, error)
}

const (
	// mostNodes is how many nodes hear of all settlements at most. To pass over a player takes far less than a notice
	// of their own.
	mostNodes = 8
	// packedClaims is how many claims are in a notice, more or less: a player's are not parted.
	packedClaims = 256
	// countEvery is how long a count of the nodes is good, and how often a node says that it has players.
	countEvery = 5 * time.Second
)

// fewness is whether few nodes have players, as far as is known.
type fewness struct {
	mu    sync.Mutex
	is    bool
	until time.Time
}

// fewNodes tells whether few nodes have players. Where that cannot be said they are many.
func (b *Bus) fewNodes(ctx context.Context) bool {
	if b.o.Nodes == nil {
		return false
	}
	b.few.mu.Lock()
	defer b.few.mu.Unlock()
	if now := time.Now(); now.After(b.few.until) {
		n, err := b.o.Nodes.Present(ctx)
		b.few.is, b.few.until = err == nil && n > 0 && n <= mostNodes, now.Add(countEvery)
	}
	return b.few.is
}

// byPlayer is an order of settlements in which those of a player follow each other, as they came.
func byPlayer(settlements []posting.Settlement) []int {
	order := make([]int, len(settlements))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(settlements[i].User, settlements[j].User) })
	return order
}

// packed are the notices of settlements to all nodes.
func packed(campaign string, settlements []posting.Settlement) iter.Seq[*Settled] {
	order := byPlayer(settlements)
	return func(yield func(*Settled) bool) {
		notice := &Settled{Campaign: campaign}
		for n, i := range order {
			s := &settlements[i]
			if len(notice.Claims) >= packedClaims && s.User != settlements[order[n-1]].User {
				if !yield(notice) {
					return
				}
				notice.Claims = notice.Claims[:0]
			}
			notice.Claims = append(notice.Claims, claimOf(s))
		}
		if len(notice.Claims) > 0 {
			yield(notice)
		}
	}
}

// stay says again and again that this node has players, while it has any, until ctx ends.
func (a *Audience) stay(ctx context.Context) {
	if a.bus.o.Nodes != nil {
		rounds.Every(ctx, countEvery, a.here)
	}
}

// here says that this node has players, if it has any.
func (a *Audience) here(ctx context.Context) {
	a.mu.Lock()
	players := len(a.groups) > 0
	a.mu.Unlock()
	if !players {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, countEvery)
	defer cancel()
	if err := a.bus.o.Nodes.Here(ctx, a.bus.node); err != nil {
		a.log.Debug("other nodes may not know that there are players here", "err", err)
	}
}

// listenAll listens to the notices to all nodes while there are players here. Whoever has just come waits for the
// subscription as for the one of their group.
func (a *Audience) listenAll() {
	a.mu.Lock()
	wanted := len(a.groups) > 0
	a.mu.Unlock()
	switch {
	case wanted == (a.all != nil):
	case !wanted:
		if err := a.all.Unsubscribe(); err != nil {
			a.log.Debug("notices to all nodes are still listened to", "err", err)
		}
		a.all = nil
	default:
		sub, err := a.bus.nc.ChanSubscribe(a.bus.subject(topicPacked, "*"), a.heard)
		if err != nil { // the connection is closed for good: this process ends
			a.log.Debug("settlements are not listened to", "err", err)
			return
		}
		a.all = sub
	}
}
