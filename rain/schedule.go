package rain

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
)

// WaveMS is the time from one wave to the next, in milliseconds.
const WaveMS = 250

const wavesPerSecond = 1000 / WaveMS

// MaxDropsPerSecond is the limit of a rain's drops_per_second, as in the tag of Settings.
const MaxDropsPerSecond = 400

// xMax is the largest horizontal position of a drop, the right edge of the screen.
const xMax = 1000

// golden is 2^64 divided by the golden ratio. Its multiples, modulo 2^64, are spread evenly from the first one on.
const golden = 0x9E3779B97F4A7C15

// Waves returns the number of waves of the rain if it is not stopped.
func (r *Rain) Waves() int64 { return (r.DurationMS + WaveMS - 1) / WaveMS }

// WaveAt returns the time of wave n. Waves are numbered through the campaign; the rain's first is FirstWave.
func (r *Rain) WaveAt(n int64) int64 { return r.StartsAt + (n-r.FirstWave)*WaveMS }

// Has reports whether wave n is one of this rain's.
func (r *Rain) Has(n int64) bool { return n >= r.FirstWave && n < r.FirstWave+r.Waves() }

// Wave computes wave n. It can be computed only with the seed, and is the same on every node. A wave that the rain
// does not have is empty.
func (r *Rain) Wave(n int64) Wave {
	w := Wave{N: n, At: r.WaveAt(n)}
	count := r.drops(n)
	if count == 0 {
		return w
	}
	w.Drops = make([]Drop, count)
	for k := range w.Drops {
		w.Drops[k] = r.drop(n, k)
	}
	return w
}

// drops returns the number of drops of wave n. DropsPerSecond need not be a multiple of four. The waves' counts
// alternate so that each second has exactly that many.
func (r *Rain) drops(n int64) int {
	if !r.Has(n) {
		return 0
	}
	i, d := n-r.FirstWave, int64(r.DropsPerSecond)
	return int((i+1)*d/wavesPerSecond - i*d/wavesPerSecond)
}

// spread returns the place of a drop across the screen, as a fraction of 2^64. Drops that follow each other are far
// apart: random places would put several packets on top of each other. noise moves the place by an eighth at most.
func (r *Rain) spread(n int64, k int, noise uint64) uint64 {
	number := r.FirstWave + (n-r.FirstWave)*int64(r.DropsPerSecond)/wavesPerSecond + int64(k)
	return uint64(number)*golden + noise/8 //nolint:gosec // not negative
}

// drop computes the k-th drop of wave n from SHA-256 of the seed and the drop's numbers. Each drop has its own hash,
// so a single tap is classified without computing its wave.
func (r *Rain) drop(n int64, k int) Drop {
	const label = "redrain drop v2\x00"
	var in [len(label) + 32 + 16]byte
	copy(in[:], label)
	copy(in[len(label):], r.Seed[:])
	binary.BigEndian.PutUint64(in[len(label)+32:], uint64(n)) //nolint:gosec // not negative
	binary.BigEndian.PutUint64(in[len(label)+40:], uint64(k)) //nolint:gosec // not negative
	sum := sha256.Sum256(in[:])
	word := func(i int) uint64 { return binary.BigEndian.Uint64(sum[i*8:]) }
	// The bias of the remainders is below 2^-50, and a checker in another language needs no rejection loop.
	x, _ := bits.Mul64(r.spread(n, k, word(0)), xMax+1)
	d := Drop{K: k, X: int(x), Kind: Packet}                    //nolint:gosec // 0 to xMax
	d.FallMS = r.FallMS - int64(word(1)%(uint64(r.FallMS)/4+1)) //nolint:gosec // a quarter of FallMS at most
	if word(2)%100 < uint64(r.DecoyPercent) /* 0 to 100 */ {    //nolint:gosec // not negative
		d.Kind = Decoy
	}
	return d
}

// Digest returns a SHA-256, in hex, over every drop of the rain in order; `redrain verify` compares it. Each drop
// adds its wave, position in it, x, kind and fall time as big-endian 64-bit numbers.
func (r *Rain) Digest() string {
	h := sha256.New()
	var rec [40]byte
	for n := r.FirstWave; n < r.FirstWave+r.Waves(); n++ {
		for k := range r.drops(n) {
			d := r.drop(n, k)
			for i, v := range [5]int64{n, int64(k), int64(d.X), int64(d.Kind), d.FallMS} {
				binary.BigEndian.PutUint64(rec[i*8:], uint64(v)) //nolint:gosec // none is negative
			}
			h.Write(rec[:])
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Drops returns the number of drops of the rain.
func (r *Rain) Drops() int {
	total := 0
	for n := r.FirstWave; n < r.FirstWave+r.Waves(); n++ {
		total += r.drops(n)
	}
	return total
}
