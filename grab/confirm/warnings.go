package confirm

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Warnings names, for an operator, the masters of Redis that have no replica now, if the mode is Replica.
func (c *Confirmer) Warnings(ctx context.Context) (warnings []string) {
	if c.mode != Replica {
		return nil
	}
	var mu sync.Mutex
	err := c.store.EachMaster(ctx, func(ctx context.Context, addr string, master redis.Cmdable) {
		which := "Redis"
		if addr != "" {
			which += " at " + addr
		}
		info, err := master.Info(ctx, "replication").Result()
		if err == nil && strings.Contains(info, "state=online") {
			return
		}
		text := which + " has no replica that is online"
		if err != nil {
			text = fmt.Sprintf("%s does not report its replicas (%s)", which, err)
		}
		mu.Lock()
		defer mu.Unlock()
		warnings = append(warnings, text+
			`: with --confirm replica every win without one is answered unavailable, and its player is not notified`)
	})
	if err != nil {
		warnings = append(warnings, fmt.Sprintf("read the replicas of the masters of Redis: %s", err))
	}
	return warnings
}
