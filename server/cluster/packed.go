package cluster

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"redrain/payout/ledger/posting"
)

// A notice for each group of players costs its message, its seals and NATS more than its content. So if few nodes have
// players, each receives all settlements, in notices of many players, and skips those of others. The nodes are counted
// in Redis. A wrong count costs work and loses nothing: a node listens to both.

// Nodes lists the nodes that have players and are alive. [store.Connections] does.
type Nodes interface {
	Nodes(ctx context.Context) ([]string, error)
}

const (
	// mostNodes is how many nodes hear of all settlements at most. To pass over a player takes far less than a notice
	// of their own.
	mostNodes = 8
	// packedClaims is how many claims are in a notice, more or less: a player's are not parted.
	packedClaims = 256
	// countEvery is how long a count of the nodes is good.
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
		nodes, err := b.o.Nodes.Nodes(ctx)
		n := len(nodes)
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
