package store_test

import (
	"testing"

	"redrain/grab/grabtest"
	"redrain/grab/store"
	"redrain/internal/testenv"
)

// A Redis keeps its first name. A shut guard stops all commands, in pipelines too, but not the look at the name.
func TestAGuardStopsAllCommands(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		guard := store.NewGuard(rdb)
		s := store.New(rdb, store.Options{Namespace: testenv.Namespace(t)})
		identity := store.NewIdentity(s)
		read := func() string {
			t.Helper()
			name, histories, err := identity.Read(t.Context())
			if err != nil || len(histories) == 0 || histories[0] == "" {
				t.Fatalf("histories %q, %v", histories, err)
			}
			return name
		}
		testenv.Equal(t, read(), "", "no name")
		guard.Shut("a reason")
		testenv.WantErr(t, rdb.Ping(t.Context()).Err(), store.ErrOtherRedis)
		testenv.WantErr(t, s.Load(t.Context()), store.ErrOtherRedis)
		pipe := rdb.Pipeline()
		pipe.Get(t.Context(), "x")
		testenv.WantErr(t, testenv.Err(pipe.Exec(t.Context())), store.ErrOtherRedis)
		testenv.Equal(t, store.IsUnavailable(rdb.Ping(t.Context()).Err()), true, "unavailable")
		for _, name := range []string{"first", "second"} {
			testenv.Must(t, identity.Set(t.Context(), name))
			testenv.Equal(t, read(), "first", "the name")
		}
		guard.Open()
		testenv.Must(t, rdb.Ping(t.Context()).Err())
	})
}
