package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"redrain/internal/testenv"
)

// settled waits until the wins that are reported by now are in the ledger.
func (g *game) settled() {
	g.t.Helper()
	reported := g.reported()
	testenv.Eventually(g.t, time.Minute, "the reported wins are in the ledger", func() bool {
		ctx, cancel := context.WithTimeout(g.t.Context(), 10*time.Second)
		defer cancel()
		stats, err := g.op.Stats(ctx, g.campaign)
		return err == nil && int(stats.Paid) >= reported
	})
}

// awaitAllNotified waits until every packet's win has reached its player, by a result or by a settlement. A tap that a
// busy node answers with "unavailable" may be a win: its settlement reports it.
func (g *game) awaitAllNotified(packets int) {
	g.t.Helper()
	notified := func() int {
		claims := map[string]bool{}
		for _, p := range g.players {
			for claim := range p.wins() {
				claims[claim] = true
			}
			p.mu.Lock()
			for claim := range p.settled {
				claims[claim] = true
			}
			p.mu.Unlock()
		}
		return len(claims)
	}
	testenv.Eventually(g.t, time.Minute, fmt.Sprintf("notifications of %d wins", packets),
		func() bool { return notified() >= packets })
	awaitBooks(g.t, g.op, g.campaign)
	testenv.Equal(g.t, notified(), packets, "wins that are notified of")
	if reported := g.reported(); reported < packets/2 {
		g.t.Errorf("only %d of %d wins were the result of a tap", reported, packets)
	}
}

// fileOf is the file that a server appends to.
func fileOf(t *testing.T, redis *testenv.Server) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(redis.Data(), "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) != 1 {
		t.Fatalf("append-only files: %v (%v)", files, err)
	}
	return files[0]
}

func sizeOf(t *testing.T, file string) int64 {
	t.Helper()
	return testenv.Got(os.Stat(file)).Must(t).Size()
}
