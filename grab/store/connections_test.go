package store_test

import (
	"slices"
	"testing"
	"time"

	"redrain/grab/grabtest"
	"redrain/grab/store"
	"redrain/internal/testenv"
)

// What one node tells of a player, the others read; what has gone is gone, whoever says it again, and a player whose id
// is no word of a key is one like any other.
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
