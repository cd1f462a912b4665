package store_test

import (
	"strconv"
	"testing"

	"redrain/grab/grabtest"
	"redrain/internal/testenv"
	"redrain/rain"
)

// BenchmarkOpen is a campaign of 16 shards that is stocked and opened, on a real Redis: an op is the whole campaign.
// redis-B is what it takes of Redis's memory.
func BenchmarkOpen(b *testing.B) {
	rdb := grabtest.Connect(b, testenv.Redis(b))
	for _, packets := range []int{100_000, 10_000_000} {
		b.Run("packets="+strconv.Itoa(packets), func(b *testing.B) {
			var held int64
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				gm := grabtest.New(b, rdb, grabtest.Setup{Packets: packets, Budget: 1_000 * rain.Money(packets),
					Shards: 16,
					Split:  rain.DoubleMean, NotOpen: true})
				b.StartTimer()
				testenv.Must(b, gm.G.Open(b.Context(), gm.C, gm.Options.Clock()+60_000))
				b.StopTimer()
				held = memoryOf(gm)
				forget(gm)
				b.StartTimer()
			}
			b.ReportMetric(float64(held), "redis-B")
		})
	}
}
