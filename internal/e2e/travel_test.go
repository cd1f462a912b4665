package e2e

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"redrain/internal/testenv"
)

// settled waits until what has been told by now is in the ledger.
func (g *game) settled() {
	g.t.Helper()
	told := g.told()
	testenv.Eventually(g.t, time.Minute, "what was told is in the ledger", func() bool {
		ctx, cancel := context.WithTimeout(g.t.Context(), 10*time.Second)
		defer cancel()
		stats, err := g.op.Stats(ctx, g.campaign)
		return err == nil && int(stats.Paid) >= told
	})
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
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
