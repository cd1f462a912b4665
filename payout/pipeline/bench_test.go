package pipeline

import (
	"fmt"
	"sync/atomic"
	"testing"

	"redrain/payout/paytest"
	"redrain/rain"
)

// BenchmarkPost posts batches of 500 wins, each of another player with earlier wins, in entries of different sizes.
// It reports the wins/s of one worker; "4 workers" are those of one node on one campaign.
func BenchmarkPost(b *testing.B) {
	for name, open := range paytest.Databases {
		for _, perEntry := range []int{1, 50, 500} {
			b.Run(fmt.Sprintf("%s/500 wins in entries of %d", name, perEntry),
				func(b *testing.B) { benchmarkPost(b, open(b), perEntry, 1) })
		}
		b.Run(name+"/500 wins in entries of 50, 4 workers", func(b *testing.B) { benchmarkPost(b, open(b), 50, 4) })
	}
}

func benchmarkPost(b *testing.B, books *paytest.Books, perEntry, workers int) {
	b.Helper()
	const wins, users = 500, 20_000
	books.OpenCampaign(b, "c1", rain.Spec{Budget: rain.MaxBudget / 2, Packets: rain.MaxPackets, Split: rain.DoubleMean})
	var batches atomic.Int64
	batch := func() []rain.Entry {
		n := int(batches.Add(1))
		var entries []rain.Entry
		for first := 0; first < wins; first += perEntry {
			list := make([]rain.Win, perEntry)
			for i := range list {
				packet := n*wins + first + i
				list[i] = paytest.Win(fmt.Sprintf("player-%d", packet*7919%users), packet, 88)
			}
			entries = append(entries, paytest.Entry("c1", n*wins+first, list...))
		}
		return entries
	}
	for range users / wins { // so that the players have accounts
		books.MustPost(b, batch()...)
	}
	ready := make([][]rain.Entry, 0, benchReady)
	for range cap(ready) {
		ready = append(ready, batch())
	}
	var next atomic.Int64
	post := func() {
		if n := next.Add(1); n <= benchReady {
			books.MustPost(b, ready[n-1]...)
		} else {
			books.MustPost(b, batch()...)
		}
	}
	b.ReportAllocs()
	b.SetParallelism(workers)
	b.ResetTimer()
	if workers == 1 {
		for b.Loop() {
			post()
		}
	} else {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				post()
			}
		})
	}
	b.ReportMetric(float64(wins*b.N)/b.Elapsed().Seconds(), "wins/s")
}

// benchReady is the number of batches that are sealed before the timer starts: sealing is the gateways' work.
const benchReady = 200
