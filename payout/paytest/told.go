package paytest

import (
	"context"
	"sync"

	"redrain/payout/ledger/posting"
)

// Told is a Notifier that counts how often each claim was settled.
type Told struct {
	mu     sync.Mutex
	claims map[string]int
}

// Settled implements Notifier.
func (n *Told) Settled(_ context.Context, settled []posting.Settlement) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.claims == nil {
		n.claims = map[string]int{}
	}
	for _, s := range settled {
		n.claims[s.Claim]++
	}
}

// Distinct is how many claims were settled.
func (n *Told) Distinct() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.claims)
}
