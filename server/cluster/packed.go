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

// A notice for each group costs more for its message, its seal and NATS than for its content. So if few nodes have
// players, each receives all settlements, packed into large notices, and skips those of other nodes' players. The nodes
// are counted in Redis. A wrong count loses nothing: a node subscribes to both kinds.

// Nodes lists the nodes that have players and are alive. [store.Connections] implements it.
type Nodes interface {
	Nodes(ctx context.Context) ([]string, error)
}

const (
	// mostNodes is the largest number of nodes that receive all settlements. Skipping a player costs far less than a
	// separate notice.
	mostNodes = 8
	// packedClaims is the approximate number of claims in a notice. A player's claims stay together.
	packedClaims = 256
	// countEvery is the time for which a count of the nodes is valid.
	countEvery = 5 * time.Second
)

// fewness caches whether few nodes have players.
type fewness struct {
	mu    sync.Mutex
	is    bool
	until time.Time
}

// fewNodes reports whether few nodes have players. If Redis does not answer, it returns false.
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

// byPlayer returns the indexes of settlements, sorted stably by player.
func byPlayer(settlements []posting.Settlement) []int {
	order := make([]int, len(settlements))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(settlements[i].User, settlements[j].User) })
	return order
}

// packed returns the notices of settlements to all nodes.
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
