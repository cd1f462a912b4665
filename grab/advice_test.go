package grab

import (
	"strings"
	"testing"

	"redrain/internal/testenv"
)

func TestAdvice(t *testing.T) {
	rdb, err := Connect(testenv.StartRedis(t).Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rdb.Close() }()
	g := New(rdb, Options{})
	defer g.Close()
	if got := g.Advice(t.Context()); len(got) != 0 {
		t.Errorf("of a sound server: %q", got)
	}
	if err := rdb.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatal(err)
	}
	if got := g.Advice(t.Context()); len(got) != 1 || !strings.Contains(got[0], "allkeys-lru") ||
		!strings.Contains(got[0], "noeviction") {
		t.Errorf("of one that evicts: %q", got)
	}
}
