package rain

import (
	"crypto/sha256"
	"math/bits"
	"math/rand/v2"
)

// source is a stream of random numbers, computed from a seed and the purpose they are for. ChaCha8's output is fixed
// by its specification (https://c2sp.org/chacha8rand). The method below is our own, because the standard library does
// not promise a fixed sequence for its bounded numbers.
type source struct{ chacha *rand.ChaCha8 }

func newSource(seed Seed, purpose string) *source {
	label := []byte("redrain " + purpose + " v1\x00")
	return &source{rand.NewChaCha8(sha256.Sum256(append(label, seed[:]...)))}
}

// below is uniform in 0 … n-1, by Lemire's method (https://arxiv.org/abs/1805.10941). n is at least 1.
func (s *source) below(n Money) Money {
	bound := uint64(n) //nolint:gosec // at least 1
	hi, lo := bits.Mul64(s.chacha.Uint64(), bound)
	if lo < bound {
		for threshold := -bound % bound; lo < threshold; {
			hi, lo = bits.Mul64(s.chacha.Uint64(), bound)
		}
	}
	return Money(hi) //nolint:gosec // below n
}

func shuffle(amounts []Money, src *source) {
	for i := Money(len(amounts) - 1); i > 0; i-- {
		j := src.below(i + 1)
		amounts[i], amounts[j] = amounts[j], amounts[i]
	}
}
