package store_test

import (
	"testing"
	"time"

	"redrain/grab/grabtest"
	"redrain/grab/store"
)

// A node counts once, and for some time after it has last said that it has players.
func TestNodesThatHavePlayersAreCounted(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			now := time.Now().UnixMilli()
			nodes := store.NewNodes(store.New(rdb, store.Options{Namespace: t.Name(),
				Clock: func() int64 { return now }}))
			want := func(what string, want int) {
				t.Helper()
				if got, err := nodes.Present(t.Context()); err != nil || got != want {
					t.Errorf("%s: %d, %v", what, got, err)
				}
			}
			here := func(node string) {
				t.Helper()
				if err := nodes.Here(t.Context(), node); err != nil {
					t.Fatal(err)
				}
			}
			want("nobody yet", 0)
			here("a")
			here("b")
			here("a")
			want("two nodes", 2)
			now += store.PresentFor.Milliseconds() - 1
			here("a")
			want("within the time", 2)
			now++
			want("one is silent", 1)
			here("c")
			want("another has come", 2)
		})
	}
}
