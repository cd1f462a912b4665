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

// A node reads the connections that another node wrote. A closed connection is gone, also if it is reported twice. A
// player whose id is no valid part of a key is a player like any other.
func TestConnectionsAreKnownOverNodes(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			now := time.Now().UnixMilli()
			c := store.NewConnections(store.New(rdb, store.Options{Namespace: testenv.Namespace(t),
				Clock: func() int64 { return now }}))
			tell := func(come, gone []store.Connection) map[string][]store.Connection {
				t.Helper()
				all := testenv.Got(c.Tell(t.Context(), come, gone)).Must(t)
				for _, list := range all {
					slices.SortFunc(list, func(a, b store.Connection) int { return int(a.Since - b.Since) })
				}
				return all
			}
			for _, user := range []string{"u", "{x}:李"} {
				first := store.Connection{User: user, Node: "a", N: 1, Since: 100}
				second := store.Connection{User: user, Node: "b", N: 1, Since: 200}
				other := store.Connection{User: user + "2", Node: "b", N: 2, Since: 150}
				tell([]store.Connection{first}, nil)
				for range 2 {
					all := tell([]store.Connection{second, other}, nil)
					if !slices.Equal(all[user], []store.Connection{first, second}) ||
						!slices.Equal(all[other.User], []store.Connection{other}) || len(all) != 2 {
						t.Errorf("both are there: %v", all)
					}
				}
				for range 2 {
					left := tell(nil, []store.Connection{first})[user]
					testenv.Equal(t, left, []store.Connection{second}, "one has gone")
				}
			}
			of := func(want ...store.Connection) {
				t.Helper()
				testenv.Got(c.Of(t.Context(), "v")).Want(t, want, "of v")
			}
			older := store.Connection{User: "v", Node: "b", N: 7, Since: 100}
			newer := store.Connection{User: "v", Node: "a", N: 3, Since: 200}
			tell([]store.Connection{newer, older}, nil)
			of() // of nodes that are not there
			up := func(want ...string) {
				t.Helper()
				testenv.Got(c.Nodes(t.Context())).Want(t, want, "nodes")
			}
			must := func(err error) {
				t.Helper()
				testenv.Must(t, err)
			}
			up()
			must(c.Here(t.Context(), "a"))
			now++
			must(c.Here(t.Context(), "b"))
			up("a", "b")
			of(older, newer)
			now += store.PresentFor.Milliseconds() - 1
			up("b")
			of(older)
			must(c.Gone(t.Context(), "b"))
			up()
		})
	}
}

// A node reads the names that another node wrote: for players with any id, only the newest name, and only of known
// players.
func TestNamesAreKnownOverNodes(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			space := testenv.Namespace(t)
			a := store.NewNames(store.New(rdb, store.Options{Namespace: space}))
			b := store.NewNames(store.New(rdb, store.Options{Namespace: space}))
			odd := store.Named{User: "{x}:李", Name: `"雨"`, Avatar: "https://img.example/1"}
			for _, told := range [][]store.Named{
				{{User: "u", Name: "old"}, {User: "other", Name: "<b>"}}, {{User: "u", Name: "new"}, odd}, nil,
			} {
				testenv.Must(t, a.Tell(t.Context(), told))
			}
			got, err := b.Read(t.Context(), []string{"u", "nobody", odd.User, "u"})
			want := []store.Named{{User: "u", Name: "new"}, odd, {User: "u", Name: "new"}}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%+v, %v; want %+v", got, err, want)
			}
			for _, users := range [][]string{nil, {"nobody"}} {
				testenv.Got(b.Read(t.Context(), users)).Want(t, nil, "%v", users)
			}
			left, err := rdb.PTTL(t.Context(), space+":{player.u}:name").Result()
			if err != nil || left <= 0 {
				t.Errorf("a name is kept for %v (%v)", left, err)
			}
		})
	}
}

// All nodes know the traits that players share, as long as they are true and for at most an hour. They also know a
// player's tap profiles on other nodes.
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

// A crowd is written in pipelines of a bounded size. If Redis fails, its earlier answers are kept.
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
