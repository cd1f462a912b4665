package store_test

import (
	"testing"
	"time"

	"redrain/grab/grabtest"
	"redrain/internal/testenv"
	"redrain/rain"
)

// TestOpeningCostsNothingForAPacket: the largest campaign there may be takes as little of Redis and is open as soon
// as a small one.
func TestOpeningCostsNothingForAPacket(t *testing.T) {
	rdb := grabtest.Connect(t, testenv.Redis(t))
	const shards, atMost = 8, 4 << 10 // bytes for each shard
	gm := grabtest.New(t, rdb, grabtest.Setup{Packets: rain.MaxPackets, Budget: rain.MaxBudget, Shards: shards,
		Split: rain.DoubleMean, NotOpen: true})
	began := time.Now()
	testenv.Must(t, gm.G.Open(t.Context(), gm.C, gm.Options.Clock()+60_000))
	took := time.Since(began)
	gm.Balance()
	each := memoryOf(gm) / shards
	t.Logf("%d bytes a shard, open in %s", each, took)
	if each > atMost || each < 100 {
		t.Errorf("a shard takes %d bytes of Redis, want 100 to %d", each, atMost)
	}
}

// memoryOf is what all keys of the campaign take of Redis's memory.
func memoryOf(gm *grabtest.Game) (all int64) {
	gm.T.Helper()
	for shard := range gm.C.Shards {
		for _, key := range gm.G.Keys(gm.C.ID, shard).Opening() {
			n, err := gm.RDB.MemoryUsage(gm.T.Context(), key, 0).Result() // 0: every element, not a sample
			testenv.Must(gm.T, err)
			all += n
		}
	}
	return all
}

// forget gives the memory back to the Redis that the tests share.
func forget(gm *grabtest.Game) {
	gm.T.Helper()
	for shard := range gm.C.Shards {
		testenv.Must(gm.T, gm.RDB.Unlink(gm.T.Context(), gm.G.Keys(gm.C.ID, shard).Opening()...).Err())
	}
}
