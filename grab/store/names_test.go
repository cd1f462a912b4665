package store_test

import (
	"slices"
	"testing"

	"redrain/grab/grabtest"
	"redrain/grab/store"
	"redrain/internal/testenv"
)

// What one node tells, the others read: of players whatever their ids are, the newest word of each, and of those who
// are known.
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
