package store_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/grabtest"
	"redrain/grab/store"
	"redrain/internal/testenv"
)

// Who has what in common is known over nodes, as long as it is true and not for longer than an hour; and so is how a
// player taps on other nodes.
func TestWhatPlayersHaveInCommon(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		now := time.Now().UnixMilli()
		c := store.NewCommon(store.New(rdb, store.Options{Namespace: testenv.Namespace(t),
			Clock: func() int64 { return now }}))
		tell := func(want []int, traits ...store.Trait) {
			t.Helper()
			testenv.Got(c.Tell(t.Context(), traits)).Want(t, want, "read")
		}
		at := func(user, address string) store.Trait {
			return store.Trait{Kind: "address", Value: address, User: user}
		}
		session := store.Trait{Kind: "session", Value: "192.0.2.1", User: "u"}
		tell([]int{1, 2, 1, 1}, at("u", "192.0.2.1"), at("{v}:李", "192.0.2.1"), at("w", "2001:db8::/64"), session)
		tell([]int{2}, at("u", "192.0.2.1"))
		gone := at("u", "192.0.2.1")
		gone.Gone = true
		tell([]int{1, 1}, gone, gone)
		tell([]int{1, 0, 1}, at("", "192.0.2.1"), at("", "192.0.2.9"), at("", "2001:db8::/64"))
		now += time.Hour.Milliseconds() - 1
		tell([]int{2}, at("u", "192.0.2.1"))
		now += 2
		tell([]int{1, 1}, at("", "192.0.2.1"), at("u", "192.0.2.1"))

		hands := func(node, user, text string, want ...string) {
			t.Helper()
			others, err := c.Hands(t.Context(), node, map[string]string{user: text})
			if slices.Sort(others[user]); err != nil || !slices.Equal(others[user], want) || len(others) > 1 {
				t.Errorf("%s on %s: %v, %v, want %v", user, node, others, err, want)
			}
		}
		hands("a", "{u}", "1")
		hands("b", "{u}", "2", "1")
		hands("c", "{u}", "3", "1", "2")
		hands("a", "{u}", "4", "2", "3")
		hands("a", "v", "9")
	})
}

// A crowd is told in pipelines of a bounded size, and what Redis has answered before it failed is not lost.
func TestACrowdIsToldInPipelines(t *testing.T) {
	const players = 450
	var traits []store.Trait
	own := map[string]string{}
	for i := range players {
		user := strconv.Itoa(i)
		traits = append(traits, store.Trait{Kind: "address", Value: "192.0.2.1", User: user})
		own[user] = "1"
	}
	rdb := grabtest.InProcess(t)
	left, longest := 100, 0 // a new connection has a pipeline of its own
	rdb.AddHook(grabtest.Hook{Pipeline: func(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
		return func(ctx context.Context, cmds []redis.Cmder) error {
			longest = max(longest, len(cmds))
			if left--; left < 0 {
				return context.DeadlineExceeded
			}
			return next(ctx, cmds)
		}
	}})
	c := store.NewCommon(store.New(rdb, store.Options{Namespace: testenv.Namespace(t),
		Clock: func() int64 { return time.Now().UnixMilli() }}))
	testenv.Must(t, testenv.Err(c.Hands(t.Context(), "a", own)))
	left = 2
	having, err := c.Tell(t.Context(), traits)
	if !errors.Is(err, context.DeadlineExceeded) || len(having) != 400 || having[399] != 400 {
		t.Errorf("%d counts, %v", len(having), err)
	}
	left = 1
	others, err := c.Hands(t.Context(), "b", own)
	if !errors.Is(err, context.DeadlineExceeded) || len(others) != 200 {
		t.Errorf("%d hands, %v", len(others), err)
	}
	if longest > 800 {
		t.Errorf("%d commands in a pipeline", longest)
	}
}
