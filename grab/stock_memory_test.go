package grab

import (
	"runtime"
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
)

// TestAMillionPacketsTakeLittleOfRedis: at most 16 bytes each, all keys of the campaign together, also where the
// amounts have as many digits as a budget allows. The way there takes no memory of this process either for each
// packet but that of the arguments that the Redis client makes of it, a chunk at a time.
func TestAMillionPacketsTakeLittleOfRedis(t *testing.T) {
	if testing.Short() {
		t.Skip("stocks millions of packets")
	}
	// an argument is 16 bytes; in an allocation of its own it would be 8 more
	const packets, atMost, onTheWay = 1_000_000, 16, 20
	rdb := connect(t, testenv.Redis(t))
	for _, tc := range []struct {
		name   string
		budget rain.Money
		shards int
	}{
		{"10 yuan each", 1_000 * packets, 1},
		{"the largest budget, in shards", rain.MaxBudget, 8},
	} {
		t.Run(tc.name, func(t *testing.T) {
			gm := newGame(t, rdb, setup{packets: packets, budget: tc.budget, shards: tc.shards, split: rain.DoubleMean,
				notOpen: true})
			defer gm.forget()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := gm.g.Open(t.Context(), gm.c, gm.amounts); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			if passed := float64(after.TotalAlloc-before.TotalAlloc) / packets; passed > onTheWay {
				t.Errorf("opening allocated %.1f bytes a packet, want at most %d", passed, onTheWay)
			}
			gm.balance()
			each := float64(gm.stockBytes()) / packets
			t.Logf("%.2f bytes a packet", each)
			if each > atMost || each < 1 {
				t.Errorf("a packet takes %.2f bytes of Redis, want 1 to %d", each, atMost)
			}
		})
	}
}

// stockBytes is what all keys of the campaign take of Redis's memory.
func (gm *game) stockBytes() (all int64) {
	gm.t.Helper()
	for shard := range gm.c.Shards {
		k := gm.g.keys.shard(gm.c.ID, shard)
		for _, key := range []string{k.state, k.stock, k.outbox} {
			n, err := gm.rdb.MemoryUsage(gm.t.Context(), key, 0).Result() // 0: every element, not a sample
			if err != nil {
				gm.t.Fatal(err)
			}
			all += n
		}
	}
	return all
}

// forget gives the memory back to the Redis that the tests share.
func (gm *game) forget() {
	gm.t.Helper()
	for shard := range gm.c.Shards {
		k := gm.g.keys.shard(gm.c.ID, shard)
		if err := gm.rdb.Unlink(gm.t.Context(), k.state, k.stock, k.outbox).Err(); err != nil {
			gm.t.Fatal(err)
		}
	}
}
