package grab

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"
)

// Once is true for the first caller of all nodes with this id, and false for the others until ttl has passed. With an error
// nobody knows.
func (g *Grabber) Once(ctx context.Context, campaign string, shard int, id string, ttl time.Duration) (bool, error) {
	// The token is this call's: go-redis may send the same call twice, and both must have the same answer.
	first, err := g.run(ctx, g.scripts.once, []string{g.keys.once(campaign, shard, id)},
		rand.Text(), max(1, ttl.Milliseconds())).Bool()
	if err != nil {
		return false, fmt.Errorf("marking %s of %s.%d: %w", id, campaign, shard, err)
	}
	return first, nil
}
