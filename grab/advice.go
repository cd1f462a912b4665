package grab

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Advice is what is dangerous about the way Redis is set up, in words for an operator; nothing where all is well. A
// server that does not let itself be asked (CONFIG is often forbidden) is an answer too.
func (g *Grabber) Advice(ctx context.Context) []string {
	var advice []string
	for setting, good := range map[string]string{"maxmemory-policy": "noeviction", "appendonly": "yes"} {
		got, err := g.rdb.ConfigGet(ctx, setting).Result()
		switch is := got[setting]; {
		case err != nil:
			advice = append(advice, fmt.Sprintf("Redis does not tell its %s, which must be %s: %s", setting, good, err))
		case is != good:
			advice = append(advice, fmt.Sprintf("Redis has %s %s; it must be %s, or wins can be lost", setting, is,
				good))
		}
	}
	if g.o.Confirm == ConfirmReplica {
		advice = append(advice, g.adviceOnReplicas(ctx)...)
	}
	return advice
}

// adviceOnReplicas names the masters that have no replica now.
func (g *Grabber) adviceOnReplicas(ctx context.Context) (advice []string) {
	var mu sync.Mutex
	ask := func(ctx context.Context, node redis.Cmdable, which string) {
		info, err := node.Info(ctx, "replication").Result()
		if err == nil && strings.Contains(info, "state=online") {
			return
		}
		text := "Redis" + which + " has no replica that is online"
		if err != nil {
			text = fmt.Sprintf("Redis%s does not tell whether it has a replica (%s)", which, err)
		}
		mu.Lock()
		defer mu.Unlock()
		advice = append(advice, text+": with the confirmation \"replica\" every win without one is answered unavailable and not told")
	}
	cluster, ok := g.rdb.(*redis.ClusterClient)
	if !ok {
		ask(ctx, g.rdb, "")
		return advice
	}
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		ask(ctx, node, " at "+node.Options().Addr)
		return nil
	})
	if g.seen(err) != nil {
		advice = append(advice, fmt.Sprintf("the masters of Redis cannot be asked for their replicas: %s", err))
	}
	return advice
}
