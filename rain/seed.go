package rain

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/bits"
	"math/rand/v2"
)

// Seed is the 32 secret bytes from which a rain's schedule, or a campaign's split, is computed. It prints as
// "[secret]", so that logs do not reveal it; Hex reveals it.
type Seed [32]byte

// Hex reveals the seed in lower-case hex. Call it only to publish or store the seed.
func (s Seed) Hex() string { return hex.EncodeToString(s[:]) }

// String hides the seed.
func (s Seed) String() string { return "[secret]" }

// Format hides the seed from every verb: fmt does not call String for %d or %#v.
func (s Seed) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue hides the seed in structured logs.
func (s Seed) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the seed from encoders such as JSON's.
func (s Seed) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Commitment returns the SHA-256 of the seed in lower-case hex. It is announced with the countdown. The seed is
// published after the end, so that anyone can check that the rain was computed from it.
func (s Seed) Commitment() string {
	sum := sha256.Sum256(s[:])
	return hex.EncodeToString(sum[:])
}

// ErrBadSeed is returned by ParseSeed for anything but 64 hex digits.
var ErrBadSeed = errors.New("a seed is 64 hexadecimal digits")

// ParseSeed reads a seed in hex.
func ParseSeed(s string) (Seed, error) {
	var seed Seed
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(seed) {
		return seed, ErrBadSeed
	}
	copy(seed[:], b)
	return seed, nil
}

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
