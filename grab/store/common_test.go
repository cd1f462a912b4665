package store_test

import (
	"slices"
	"testing"
	"time"

	"redrain/grab/grabtest"
	"redrain/grab/store"
	"redrain/internal/testenv"
)

// Who has what in common is known over nodes, as long as it is true and not for longer than an hour; and so is how a
// player taps on other nodes.
func TestWhatPlayersHaveInCommon(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			now := time.Now().UnixMilli()
			c := store.NewCommon(store.New(rdb, store.Options{Namespace: testenv.Namespace(t),
				Clock: func() int64 { return now }}))
			tell := func(want []int, traits ...store.Trait) {
				t.Helper()
				if got, err := c.Tell(t.Context(), traits); err != nil || !slices.Equal(got, want) {
					t.Errorf("%v, %v, want %v", got, err, want)
				}
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
			now += time.Hour.Milliseconds() - 1
			tell([]int{2}, at("u", "192.0.2.1"))
			now += 2
			tell([]int{1}, at("u", "192.0.2.1"))

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
}
