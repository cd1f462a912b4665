package rain_test

import (
	"testing"

	"redrain/internal/testenv"
)

func BenchmarkCut1M(b *testing.B) {
	for _, kind := range drawn {
		b.Run(string(kind), func(b *testing.B) {
			b.ReportAllocs()
			s := spec(kind, 1_000_000_000, 1_000_000, 1, nil)
			for b.Loop() {
				testenv.Must(b, testenv.Err(s.Cut(seedOf(1))))
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
