package rain_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"redrain/rain"
)

// flat is a rain of 20 beats. In each of them every head has one draw of four. Each of its waves has packets.
type flat struct {
	rain    *rain.Rain
	sky     *rain.Sky
	packets map[int64][]int // of each wave, their places in it
	random  *rand.Rand
}

func newFlat() *flat {
	f := &flat{rain: drawing(1_000, rain.OddsOne/4), packets: map[int64][]int{}, random: rand.New(rand.NewPCG(1, 2))}
	f.rain.DropsPerSecond = 80
	f.sky = rain.NewSky(f.rain)
	for n := f.rain.FirstWave; f.rain.Has(n); n++ {
		for _, d := range f.rain.Wave(n).Drops {
			if d.Kind == rain.Packet {
				f.packets[n] = append(f.packets[n], d.K)
			}
		}
	}
	return f
}

// wins is the number of packets that a head wins. The head taps every everyMS ms, each time a packet of the newest wave
// of reactionMS ms before. The nodes take such a tap while its drop falls, and a moment longer.
func (f *flat) wins(user string, everyMS, reactionMS int64) (wins int) {
	r, taken := f.rain, map[rain.Ticket]bool{}
	last := r.FirstWave + r.Waves() - 1
	for tap := r.StartsAt + f.random.Int64N(everyMS); tap < r.TapsUntil(); tap += everyMS {
		seen := tap - reactionMS
		if seen < r.StartsAt {
			continue // nothing has been seen yet
		}
		n := min(r.FirstWave+(seen-r.StartsAt)/rain.WaveMS, last)
		drop := rain.DropID{N: n, K: f.packets[n][f.random.IntN(len(f.packets[n]))]}
		ticket := r.TicketOf(drop)
		if taken[ticket] || f.sky.Classify(drop, tap, false) != rain.InAir {
			continue
		}
		if taken[ticket] = true; r.Lucky(user, ticket) {
			wins++
		}
	}
	return wins
}

// TestLuckIsFlat: the share of a head does not depend on their reaction, nor on their rate, if they tap once in each
// beat. The lines of least squares through the wins of 6,000 heads are level, within four standard errors. Heads that
// tap in half of the beats get half. Heads that react when the drops have landed get nothing.
func TestLuckIsFlat(t *testing.T) {
	t.Parallel()
	f := newFlat()
	const heads = 250
	reactions, everies := []int64{1, 150, 400, 900, 1_500, 2_300}, []int64{50, 250, 500, 1_000}
	draws := float64(f.rain.Beats())
	deviation := math.Sqrt(draws * 0.25 * 0.75) // of one head's wins
	var byReaction, byRate line
	for _, reaction := range reactions {
		for _, every := range everies {
			sum := 0
			for i := range heads {
				won := f.wins(fmt.Sprintf("u-%d-%d-%d", reaction, every, i), every, reaction)
				sum += won
				byReaction.add(float64(reaction), float64(won))
				byRate.add(1_000/float64(every), float64(won))
			}
			t.Logf("%d ms to react, a tap in %d ms: %.3f wins a head", reaction, every, float64(sum)/heads)
		}
	}
	for name, l := range map[string]line{"reaction (ms)": byReaction, "taps in a beat": byRate} {
		slope, most := l.slope(), 4*deviation/math.Sqrt(l.spread())
		t.Logf("wins by %s: slope %.3g, at most %.3g by chance", name, slope, most)
		if math.Abs(slope) > most {
			t.Errorf("wins depend on %s: %.3g for each, and chance explains %.3g", name, slope, most)
		}
	}
	n := byReaction.n
	if got, want, within := byReaction.y/n, draws/4, 4*deviation/math.Sqrt(n); math.Abs(got-want) > within {
		t.Errorf("%.3f wins a head, want %.3f", got, want)
	}
	half, late := 0, 0
	for i := range 4 * heads {
		half += f.wins(fmt.Sprint("half-", i), 2_000, 300)
		late += f.wins(fmt.Sprint("late-", i), 250, f.rain.FallMS+rain.GraceMS)
	}
	if got, want := float64(half)/(4*heads), draws/8; math.Abs(got-want) > 0.1*want || late > 0 {
		t.Errorf("in every second beat %.3f wins a head, want %.3f; %d by those who are too late", got, want, late)
	}
}

// line is a line of least squares. The reactions and rates of TestLuckIsFlat are a full grid, so one may be fitted
// without the other.
type line struct{ n, x, y, xx, xy float64 }

func (l *line) add(x, y float64) { l.n, l.x, l.y, l.xx, l.xy = l.n+1, l.x+x, l.y+y, l.xx+x*x, l.xy+x*y }

func (l *line) spread() float64 { return l.xx - l.x*l.x/l.n }
func (l *line) slope() float64  { return (l.xy - l.x*l.y/l.n) / l.spread() }

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

// z is the distance in standard errors between the mean of the sample and want.
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

// farKS is the value that kolmogorov exceeds about once in a million seeds.
const farKS = 2.7

// kolmogorov is the distance between a sample and a distribution. It is the largest distance between the two
// distribution functions, times the root of the sample's size (Kolmogorov–Smirnov).
func kolmogorov(values []float64, cdf func(float64) float64) float64 {
	slices.Sort(values)
	n, far := float64(len(values)), 0.0
	for i, v := range values {
		f := cdf(v)
		far = max(far, f-float64(i)/n, float64(i+1)/n-f)
	}
	return far * math.Sqrt(n)
}

// shareZ is the distance in standard errors between hits of n and the share p.
func shareZ(hits, n int, p float64) float64 {
	return (float64(hits) - float64(n)*p) / math.Sqrt(float64(n)*p*(1-p))
}
