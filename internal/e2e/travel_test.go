package e2e

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"redrain/internal/testenv"
)

// TestAnAppendOnlyFileIsCutOff: Redis is killed in a rain and comes back with a part of its file. It knows the
// campaign, as it was some seconds ago: packets that are won lie in its stock. Nobody wins them a second time,
// nobody who was told loses a win, and the shards are rebuilt: by themselves where JetStream has every win that was
// told, else when an operator says so.
func TestAnAppendOnlyFileIsCutOff(t *testing.T) {
	t.Parallel()
	for _, confirm := range []string{"redis", "stream"} {
		t.Run(confirm, func(t *testing.T) {
			testenv.Parallel(t, testenv.Medium)
			redis := testenv.StartRedis(t)
			s := setting{redis: redis.Addr, nats: testenv.NATS(t), mysql: testenv.MySQL(t),
				namespace: testenv.Namespace(t)}
			cfg := s.config()
			cfg.Confirm = confirm
			g := play(t, startNodes(t, cfg, 2), 3)
			g.goesOn(100)
			cut := fileOf(t, redis)
			size := sizeOf(t, cut)
			g.goesOn(100)
			if confirm == "redis" { // what neither ledger nor stream has by then would be lost, as --confirm redis says
				g.stop()
				g.settled()
			}
			redis.Kill()
			if err := os.Truncate(cut, size); err != nil {
				t.Fatal(err)
			}
			redis.Start()
			if confirm == "redis" {
				testenv.Eventually(t, time.Minute, "the shards are taken out of the game, and rebuilt", func() bool {
					ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
					defer cancel()
					_, err := g.op.Rebuild(ctx, g.campaign)
					return err == nil
				})
				g.join(g.nodes)
			}
			g.goesOn(100)
			g.end()
		})
	}
}

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
