package store_test

import (
	"strconv"
	"testing"

	"redrain/grab/grabtest"
	"redrain/internal/testenv"
	"redrain/rain"
)

// BenchmarkOpen is a campaign that is split, stocked and opened, on a real Redis: an op is the whole campaign.
// redis-B/packet is what the stock takes of Redis's memory.
func BenchmarkOpen(b *testing.B) {
	rdb := grabtest.Connect(b, testenv.Redis(b))
	for _, packets := range []int{100_000, 1_000_000, 10_000_000} {
		b.Run("packets="+strconv.Itoa(packets), func(b *testing.B) {
			var held int64
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				gm := grabtest.New(b, rdb, grabtest.Setup{Packets: packets, Budget: 1_000 * rain.Money(packets),
					Split: rain.DoubleMean, NotOpen: true})
				gm.Amounts = nil
				b.StartTimer()
				amounts, err := gm.C.Cut(gm.C.SplitSeed)
				if err != nil {
					b.Fatal(err)
				}
				if err := gm.G.Open(b.Context(), gm.C, amounts); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				held = stockBytes(gm)
				forget(gm)
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(packets), "ns/packet")
			b.ReportMetric(float64(held)/float64(packets), "redis-B/packet")
		})
	}
}
