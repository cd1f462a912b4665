package rain_test

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"

	"redrain/rain"
)

// The statistical tests use fixed seeds, so that they give the same answer at each run. The bounds are
// those of a test that would fail by chance about once in a million seeds: a failure is a bias.
const tooFar = 4.9

// seedOf is the i-th test seed.
func seedOf(i int) rain.Seed {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(i))
	return sha256.Sum256(b[:])
}

// sample collects numbers for a test of their mean.
type sample struct{ n, sum, squares float64 }

func (s *sample) add(x float64) { s.n++; s.sum += x; s.squares += x * x }

// z is how many standard errors the mean of the sample is away from want.
func (s *sample) z(want float64) float64 {
	mean := s.sum / s.n
	variance := s.squares/s.n - mean*mean
	if variance <= 0 {
		if mean == want {
			return 0
		}
		return math.Inf(1)
	}
	return (mean - want) / math.Sqrt(variance/s.n)
}

// chiSquare compares counts with the same expectation for each of them. The result is in standard
// deviations of its distribution, by the Wilson–Hilferty cube root: large means not uniform.
func chiSquare(counts []int) float64 {
	total := 0
	for _, c := range counts {
		total += c
	}
	want := float64(total) / float64(len(counts))
	x := 0.0
	for _, c := range counts {
		x += (float64(c) - want) * (float64(c) - want) / want
	}
	k := float64(len(counts) - 1)
	return (math.Cbrt(x/k) - (1 - 2/(9*k))) / math.Sqrt(2/(9*k))
}

// mean and deviation of a sample.
func (s *sample) mean() float64      { return s.sum / s.n }
func (s *sample) deviation() float64 { return math.Sqrt(s.squares/s.n - s.mean()*s.mean()) }

// farKS is what kolmogorov exceeds about once in a million seeds.
const farKS = 2.7

// kolmogorov is how far a sample is from a distribution: the largest distance between the two distribution
// functions, times the root of the sample's size (Kolmogorov–Smirnov).
func kolmogorov(values []float64, cdf func(float64) float64) float64 {
	slices.Sort(values)
	n, far := float64(len(values)), 0.0
	for i, v := range values {
		f := cdf(v)
		far = max(far, f-float64(i)/n, float64(i+1)/n-f)
	}
	return far * math.Sqrt(n)
}

// shareZ is how many standard errors hits of n are away from the share p.
func shareZ(hits, n int, p float64) float64 {
	return (float64(hits) - float64(n)*p) / math.Sqrt(float64(n)*p*(1-p))
}
