package store_test

import (
	"strings"
	"testing"

	"redrain/grab/store"
	"redrain/internal/testenv"
)

func TestWarnings(t *testing.T) {
	rdb, err := store.Connect(testenv.StartRedis(t).Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rdb.Close() }()
	s := store.New(rdb, store.Options{})
	if got := s.Warnings(t.Context()); len(got) != 0 {
		t.Errorf("of a sound server: %q", got)
	}
	if err := rdb.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatal(err)
	}
	if got := s.Warnings(t.Context()); len(got) != 1 || !strings.Contains(got[0], "allkeys-lru") ||
		!strings.Contains(got[0], "noeviction") {
		t.Errorf("of one that evicts: %q", got)
	}
}
