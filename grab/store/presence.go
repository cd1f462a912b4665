package store

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// presentFor is for how long a node counts as one that has players, since it has last said so.
const presentFor = 15 * time.Second

// Here says that a node has players now.
func (n *Nodes) Here(ctx context.Context, node string) error {
	return n.present(ctx, n.keys.present(), node)
}

// present notes in a sorted set of nodes that one is there.
func (c *client) present(ctx context.Context, key, node string) error {
	now := c.clock()
	_, err := c.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.ZAdd(ctx, key, redis.Z{Score: float64(now), Member: node})
		p.ZRemRangeByScore(ctx, key, "-inf", strconv.FormatInt(now-presentFor.Milliseconds(), 10))
		p.PExpire(ctx, key, presentFor)
		return nil
	})
	if c.checked(err) != nil {
		return fmt.Errorf("telling that this node has players: %w", err)
	}
	return nil
}

// Present is how many nodes have said of late that they have players.
func (n *Nodes) Present(ctx context.Context) (int, error) {
	since := n.clock() - presentFor.Milliseconds()
	found, err := n.rdb.ZCount(ctx, n.keys.present(), "("+strconv.FormatInt(since, 10), "+inf").Result()
	if n.checked(err) != nil {
		return 0, fmt.Errorf("counting the nodes that have players: %w", err)
	}
	return int(found), nil
}
