package store_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"

	"redrain/grab/grabtest"
	"redrain/grab/store"
	"redrain/rain"
)

// halfMoved is a Redis in which the slot of shard 1 is stuck on its way, and which knows nothing of the others.
func halfMoved(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		for _, arg := range cmd.Args() {
			if key, ok := arg.(string); ok && strings.Contains(key, "{c.1}") {
				cmd.SetErr(refusal("TRYAGAIN Multiple keys request during rehashing of slot"))
				return cmd.Err()
			}
		}
		if script, ok := cmd.(*redis.Cmd); ok {
			script.SetVal([]any{[]any{}, []any{}, []any{}, ""})
		}
		return nil
	}
}

// TestAStuckSlotHidesItsShardOnly: a slot that an operator has left half moved is given up after a while, and named.
func TestAStuckSlotHidesItsShardOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rdb := redis.NewClient(&redis.Options{Addr: ":1"})
		defer func() { _ = rdb.Close() }()
		rdb.AddHook(grabtest.Hook{Command: halfMoved})
		sums := store.NewSums(store.New(rdb, store.Options{}))
		got, err := sums.Snapshot(t.Context(), &rain.Campaign{ID: "c", Spec: rain.Spec{Packets: 9, Shards: 3}})
		if err != nil || len(got) != 3 || got[0].Unread != "" || got[2].Unread != "" || got[1].Found ||
			!strings.Contains(got[1].Unread, "TRYAGAIN") {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
