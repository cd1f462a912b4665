package grab

import (
	"runtime"
	"strconv"
	"sync"
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
)

// BenchmarkTap is a tap from the gate to its result on a real Redis: every tap wins a packet.
func BenchmarkTap(b *testing.B) {
	rdb := connect(b, testenv.Redis(b))
	for _, players := range []int{1, 100, 1000} {
		b.Run("players="+strconv.Itoa(players), func(b *testing.B) {
			storm(b, newGame(b, rdb, setup{packets: max(b.N, 1), wins: 1_000_000, tapRate: 1_000_000}), players)
		})
	}
}

// storm has so many players tap at the same time, each waiting for the result before the next tap. All of them win.
func storm(b *testing.B, gm *game, players int) {
	b.Helper()
	drop := gm.drop(0)
	users := make([]string, b.N)
	for i := range users {
		users[i] = "user-" + strconv.Itoa(i)
	}
	each := b.N / players
	b.ReportAllocs()
	b.ResetTimer()
	var all sync.WaitGroup
	for p := range players {
		from, to := p*each, (p+1)*each
		if p == players-1 {
			to = b.N
		}
		all.Go(func() {
			got := make(chan Result, 1)
			done := func(r Result) { got <- r }
			for _, user := range users[from:to] {
				ask(gm.gate, user, drop, done)
				if r := <-got; r.Outcome != Won {
					b.Errorf("%v", r)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "taps/s")
}

// BenchmarkTapAnsweredHere is a tap that costs Redis nothing.
func BenchmarkTapAnsweredHere(b *testing.B) {
	gm := newGame(b, inProcess(b), setup{packets: 1})
	gm.want("first", gm.drop(0), Won)
	drops := make([]string, 100)
	for i := range drops {
		drops[i] = gm.drop(i)
	}
	var got Outcome
	done := func(r Result) { got = r.Outcome }
	for _, c := range []struct {
		name, user string
		drop       func(i int) string
		want       Outcome
	}{
		{"won before", "first", func(int) string { return drops[0] }, Won},
		{"sold out", "second", func(i int) string { return drops[i%100] }, SoldOut},
		{"unknown drop", "second", func(int) string { return "2000.1" }, UnknownDrop},
		{"no drop", "second", func(int) string { return "drop" }, UnknownDrop},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				ask(gm.gate, c.user, c.drop(i), done)
			}
			if got != c.want {
				b.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// BenchmarkCoalescer is the coalescer alone: what batching costs each tap.
func BenchmarkCoalescer(b *testing.B) {
	mem := newMemory(nil)
	var all sync.WaitGroup
	p := mem.stripe("u").add("u")
	c := newCoalescer(&workers{}, func(batch []*Tap) error {
		for _, t := range batch {
			t.settle(Result{Outcome: NotOpen})
		}
		return nil
	})
	done := &asker{func(Result) { all.Done() }}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			all.Add(1)
			t := &Tap{User: "u", stripe: mem.stripe("u"), player: p, Asker: done}
			for !c.push(t) {
				runtime.Gosched() // the queue is full
			}
		}
	})
	all.Wait()
}

// BenchmarkOpen is a campaign that is split, stocked and opened, on a real Redis: an op is the whole campaign.
// redis-B/packet is what the stock takes of Redis's memory.
func BenchmarkOpen(b *testing.B) {
	rdb := connect(b, testenv.Redis(b))
	for _, packets := range []int{100_000, 1_000_000, 10_000_000} {
		b.Run("packets="+strconv.Itoa(packets), func(b *testing.B) {
			var held int64
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				gm := newGame(b, rdb, setup{packets: packets, budget: 1_000 * rain.Money(packets),
					split: rain.DoubleMean, notOpen: true})
				gm.amounts = nil
				b.StartTimer()
				amounts, err := gm.c.Cut(gm.c.SplitSeed)
				if err != nil {
					b.Fatal(err)
				}
				if err := gm.g.Open(b.Context(), gm.c, amounts); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				held = gm.stockBytes()
				gm.forget()
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(packets), "ns/packet")
			b.ReportMetric(float64(held)/float64(packets), "redis-B/packet")
		})
	}
}
