package rain_test

import (
	"testing"

	"redrain/rain"
)

func BenchmarkCut1M(b *testing.B) {
	for _, kind := range drawn {
		b.Run(string(kind), func(b *testing.B) {
			b.ReportAllocs()
			s := spec(kind, 1_000_000_000, 1_000_000, 1, nil)
			for b.Loop() {
				if _, err := s.Cut(seedOf(1)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWave makes a wave of an ordinary rain and of the densest.
func BenchmarkWave(b *testing.B) {
	for name, density := range map[string]int{"8 a second": 8, "400 a second": 400} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			r := testRain()
			r.DropsPerSecond = density
			for b.Loop() {
				if w := r.Wave(50); len(w.Drops) != density/4 {
					b.Fatal(len(w.Drops))
				}
			}
		})
	}
}

// BenchmarkClassify is the cost of a tap before any call of Redis.
func BenchmarkClassify(b *testing.B) {
	r := testRain()
	r.DecoyPercent = 0
	id := rain.DropID{N: 50, K: 1}
	at := r.WaveAt(50) + 10
	for name, now := range map[string]int64{"in air": at, "not yet": at - 100} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			want := r.Classify(id, now, false)
			for b.Loop() {
				if r.Classify(id, now, false) != want {
					b.Fatal("it changed its mind")
				}
			}
		})
		b.Run(name+", remembered", func(b *testing.B) {
			b.ReportAllocs()
			sky := rain.NewSky(&r)
			for b.Loop() {
				if sky.Classify(id, now, false) != rain.InAir && now == at {
					b.Fatal("it has landed")
				}
			}
		})
	}
}

func BenchmarkParseDrop(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := rain.ParseDrop("123456.17"); !ok {
			b.Fatal("refused")
		}
	}
}

func BenchmarkHomeShard(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if rain.HomeShard("guest-7f3a90b1c2d4", 16) > 15 {
			b.Fatal("no such shard")
		}
	}
}

func BenchmarkDigest(b *testing.B) {
	b.ReportAllocs()
	r := testRain()
	for b.Loop() {
		if r.Digest() == "" {
			b.Fatal("empty")
		}
	}
}
