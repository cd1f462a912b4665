package store_test

import (
	"runtime"
	"testing"

	"redrain/grab/grabtest"
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
	rdb := grabtest.Connect(t, testenv.Redis(t))
	for _, tc := range []struct {
		name   string
		budget rain.Money
		shards int
	}{
		{"10 yuan each", 1_000 * packets, 1},
		{"the largest budget, in shards", rain.MaxBudget, 8},
	} {
		t.Run(tc.name, func(t *testing.T) {
			gm := grabtest.New(t, rdb, grabtest.Setup{Packets: packets, Budget: tc.budget, Shards: tc.shards,
				Split:   rain.DoubleMean,
				NotOpen: true})
			defer forget(gm)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := gm.G.Open(t.Context(), gm.C, gm.Amounts); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			if passed := float64(after.TotalAlloc-before.TotalAlloc) / packets; passed > onTheWay {
				t.Errorf("opening allocated %.1f bytes a packet, want at most %d", passed, onTheWay)
			}
			gm.Balance()
			each := float64(stockBytes(gm)) / packets
			t.Logf("%.2f bytes a packet", each)
			if each > atMost || each < 1 {
				t.Errorf("a packet takes %.2f bytes of Redis, want 1 to %d", each, atMost)
			}
		})
	}
}

// stockBytes is what all keys of the campaign take of Redis's memory.
func stockBytes(gm *grabtest.Game) (all int64) {
	gm.T.Helper()
	for shard := range gm.C.Shards {
		k := gm.G.Keys(gm.C.ID, shard)
		for _, key := range []string{k.State, k.Stock, k.Outbox} {
			n, err := gm.RDB.MemoryUsage(gm.T.Context(), key, 0).Result() // 0: every element, not a sample
			if err != nil {
				gm.T.Fatal(err)
			}
			all += n
		}
	}
	return all
}

// forget gives the memory back to the Redis that the tests share.
func forget(gm *grabtest.Game) {
	gm.T.Helper()
	for shard := range gm.C.Shards {
		k := gm.G.Keys(gm.C.ID, shard)
		if err := gm.RDB.Unlink(gm.T.Context(), k.State, k.Stock, k.Outbox).Err(); err != nil {
			gm.T.Fatal(err)
		}
	}
}
