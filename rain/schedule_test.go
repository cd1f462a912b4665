package rain_test

import (
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"redrain/internal/testenv"
	"redrain/rain"
)

// testRain is the second rain of a campaign: its waves do not begin at 0.
func testRain() rain.Rain {
	r := rain.Rain{ID: "r2", Campaign: "c1", StartsAt: 1_763_712_000_000, Settings: rain.DefaultRain().Settings,
		FirstWave: 40, Seed: seedOf(5)}
	r.DecoyPercent = 20
	return r
}

// genRain draws any rain that the validation lets through.
func genRain() *rapid.Generator[rain.Rain] {
	return rapid.Custom(func(t *rapid.T) rain.Rain {
		return rain.Rain{
			ID: "r", Campaign: "c",
			StartsAt: rapid.Int64Range(1_700_000_000_000, 1_900_000_000_000).Draw(t, "starts"),
			Settings: rain.Settings{
				DurationMS: rapid.OneOf(rapid.Int64Range(1_000, 1_600), rapid.Int64Range(1_000, 20_000)).Draw(t,
					"duration"),
				DropsPerSecond: rapid.OneOf(rapid.IntRange(1, 9), rapid.IntRange(1, rain.MaxDropsPerSecond)).Draw(t,
					"density"),
				FallMS:       rapid.OneOf(rapid.Int64Range(500, 510), rapid.Int64Range(500, 20_000)).Draw(t, "fall"),
				DecoyPercent: rapid.SampledFrom([]int{0, 1, 50, 99, 100}).Draw(t, "decoys"),
			},
			FirstWave: rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 1_000_000)).Draw(t, "first wave"),
			Seed:      genSeed().Draw(t, "seed"),
		}
	})
}

// waves is every wave of a rain.
func waves(r *rain.Rain) []rain.Wave {
	all := make([]rain.Wave, 0, r.Waves())
	for n := r.FirstWave; r.Has(n); n++ {
		all = append(all, r.Wave(n))
	}
	return all
}

// TestEachSecondHasItsDrops goes through all densities. The durations are not all whole numbers of
// waves or of seconds.
func TestEachSecondHasItsDrops(t *testing.T) {
	t.Parallel()
	for _, duration := range []int64{1_000, 1_249, 2_001, 3_000, 3_750} {
		for density := 1; density <= rain.MaxDropsPerSecond; density++ {
			r := testRain()
			r.DurationMS, r.DropsPerSecond = duration, density
			perSecond := make([]int, duration/1_000+1)
			total := 0
			for _, w := range waves(&r) {
				perSecond[(w.At-r.StartsAt)/1_000] += len(w.Drops)
				total += len(w.Drops)
				if d := len(w.Drops) - density/4; d != 0 && d != 1 {
					t.Fatalf("%d a second: wave %d has %d drops", density, w.N, len(w.Drops))
				}
			}
			for s, got := range perSecond[:duration/1_000] {
				if got != density {
					t.Fatalf("%d a second for %d ms: second %d has %d drops", density, duration, s, got)
				}
			}
			if total != r.Drops() {
				t.Fatalf("Drops() is %d, the waves have %d", r.Drops(), total)
			}
		}
	}
}

func TestDropsStayInTheirBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := genRain().Draw(t, "rain")
		seen := map[rain.DropID]bool{}
		for i, w := range waves(&r) {
			if w.N != r.FirstWave+int64(i) || w.At != r.StartsAt+int64(i)*rain.WaveMS {
				t.Fatalf("wave %d is number %d at %d", i, w.N, w.At)
			}
			if w.At < r.StartsAt || w.At >= r.StartsAt+r.DurationMS {
				t.Fatalf("wave %d appears at %d, outside the rain", w.N, w.At)
			}
			for k, d := range w.Drops {
				id := rain.DropID{N: w.N, K: d.K}
				switch {
				case d.K != k || seen[id]:
					t.Fatalf("drop %d of wave %d is called %v", k, w.N, id)
				case d.X < 0 || d.X > rain.XMax:
					t.Fatalf("drop %v has x %d", id, d.X)
				case 4*d.FallMS < 3*r.FallMS || d.FallMS > r.FallMS:
					t.Fatalf("drop %v falls for %d of %d ms", id, d.FallMS, r.FallMS)
				case w.At+d.FallMS > r.LandedAt():
					t.Fatalf("drop %v lands after the rain has", id)
				case d.Kind != rain.Packet && d.Kind != rain.Decoy:
					t.Fatalf("drop %v is of kind %d", id, d.Kind)
				case d.Kind == rain.Decoy && r.DecoyPercent == 0, d.Kind == rain.Packet && r.DecoyPercent == 100:
					t.Fatalf("drop %v is of kind %d with %d %% of decoys", id, d.Kind, r.DecoyPercent)
				}
				seen[id] = true
			}
		}
	})
}

func TestARainHasOnlyItsOwnWaves(t *testing.T) {
	t.Parallel()
	r := testRain()
	for _, n := range []int64{math.MinInt64, -1, 0, 39, 80, 81, math.MaxInt64} {
		if r.Has(n) {
			t.Errorf("it has wave %d", n)
		}
		testenv.Equal(t, len(r.Wave(n).Drops), 0, "drops of wave %d", n)
	}
	for _, tc := range []struct{ duration, waves int64 }{{1_000, 4}, {1_001, 5}, {1_249, 5}, {1_250, 5}, {1_251, 6},
		{600_000, 2_400}} {
		r.DurationMS = tc.duration
		testenv.Equal(t, r.Waves(), tc.waves, "waves of %d ms", tc.duration)
	}
}

// TestDropsDependOnSeedAndNumberOnly: nothing that may change while a rain falls moves a drop.
func TestDropsDependOnSeedAndNumberOnly(t *testing.T) {
	t.Parallel()
	a := testRain()
	b := a
	b.StartsAt, b.StoppedAt, b.DurationMS = a.StartsAt+777, a.StartsAt+5_000, a.DurationMS*2
	testenv.Equal(t, a.Wave(50).Drops, b.Wave(50).Drops, "the drops changed with start, stop or duration")
	if reflect.DeepEqual(a.Wave(50).Drops, a.Wave(54).Drops) {
		t.Error("two waves are alike")
	}
}

// TestDropsAreSpreadEvenly checks place, fall time and share of decoys over 80,000 drops.
func TestDropsAreSpreadEvenly(t *testing.T) {
	t.Parallel()
	for _, percent := range []int{0, 1, 20, 50, 99, 100} {
		r := testRain()
		r.DurationMS, r.DropsPerSecond, r.FallMS, r.DecoyPercent = 200_000, rain.MaxDropsPerSecond, 500, percent
		r.Seed = seedOf(percent)
		places, falls := make([]int, rain.XMax+1), make([]int, r.FallMS/4+1)
		decoys, total, decoysLeft := 0, 0, 0
		for _, w := range waves(&r) {
			for _, d := range w.Drops {
				places[d.X]++
				falls[d.FallMS-(r.FallMS-r.FallMS/4)]++
				total++
				if d.Kind == rain.Decoy {
					decoys++
					if d.X <= 500 {
						decoysLeft++
					}
				}
			}
		}
		if z := chiSquare(places); z > tooFar {
			t.Errorf("%d %%: the places are not uniform (%.1f deviations)", percent, z)
		}
		if z := chiSquare(falls); z > tooFar {
			t.Errorf("%d %%: the fall times are not uniform (%.1f deviations)", percent, z)
		}
		if percent == 0 || percent == 100 {
			testenv.Equal(t, decoys, total*percent/100, "%d %% decoys of %d drops", percent, total)
			continue
		}
		if z := shareZ(decoys, total, float64(percent)/100); math.Abs(z) > tooFar {
			t.Errorf("%d %%: %d decoys of %d drops (%.1f deviations)", percent, decoys, total, z)
		}
		if z := shareZ(decoysLeft, decoys, 501.0/1001); math.Abs(z) > tooFar {
			t.Errorf("%d %%: %d of %d decoys fall on the left (%.1f deviations)", percent, decoysLeft, decoys, z)
		}
	}
}

// TestDropsDoNotPile: at the default density a packet has at most three others at its place that appear within half a
// second of it. At random places it has up to seven.
func TestDropsDoNotPile(t *testing.T) {
	t.Parallel()
	const together, packet = 2, 100 // waves, and the width of a packet on a phone
	for seed := range 20 {
		r := testRain()
		r.DurationMS, r.Seed = 120_000, seedOf(seed)
		all := waves(&r)
		for i, w := range all {
			for _, d := range w.Drops {
				pile := 0
				for _, near := range all[max(0, i-together):min(len(all), i+together+1)] {
					for _, other := range near.Drops {
						if dx := d.X - other.X; -packet < dx && dx < packet {
							pile++
						}
					}
				}
				if pile > 4 {
					t.Errorf("seed %d: %d packets lie around drop %d.%d", seed, pile, w.N, d.K)
				}
			}
		}
	}
}

// TestDigestCoversEveryDrop: two rains that differ in anything a player could see differ in it.
func TestDigestCoversEveryDrop(t *testing.T) {
	t.Parallel()
	base := testRain()
	for name, change := range map[string]func(*rain.Rain){
		"density":    func(r *rain.Rain) { r.DropsPerSecond++ },
		"duration":   func(r *rain.Rain) { r.DurationMS += rain.WaveMS },
		"fall":       func(r *rain.Rain) { r.FallMS += 4 },
		"decoys":     func(r *rain.Rain) { r.DecoyPercent = 60 },
		"first wave": func(r *rain.Rain) { r.FirstWave++ },
		"seed":       func(r *rain.Rain) { r.Seed[31] ^= 1 },
	} {
		r := base
		change(&r)
		if r.Digest() == base.Digest() {
			t.Errorf("%s: the digest stays the same", name)
		}
	}
	stopped := base
	stopped.StoppedAt = base.StartsAt + 1
	testenv.Equal(t, stopped.Digest(), base.Digest(),
		"a stop changes the digest: what would have fallen is checked too")
}

// TestTheDensityCountsFromTheRainsStart: which waves have a drop more does not depend on the rains before.
func TestTheDensityCountsFromTheRainsStart(t *testing.T) {
	t.Parallel()
	first := testRain()
	first.FirstWave, first.DropsPerSecond = 0, 9
	for _, later := range []int64{1, 2, 3, 41} {
		r := first
		r.FirstWave = later
		for i := range first.Waves() {
			testenv.Equal(t, len(r.Wave(later+i).Drops), len(first.Wave(i).Drops),
				"wave %d of a rain that begins at %d: drops", i, later)
		}
	}
}

// TestMatches: a repeated request finds its rain by its settings. Each setting counts.
func TestMatches(t *testing.T) {
	t.Parallel()
	r := testRain()
	spec := rain.RainSpec{Settings: r.Settings}
	for name, tc := range map[string]struct {
		change func(*rain.RainSpec)
		want   bool
	}{
		"the same":         {func(*rain.RainSpec) {}, true},
		"any relative one": {func(s *rain.RainSpec) { s.StartsInMS = new(int64(7)) }, true},
		"its own start":    {func(s *rain.RainSpec) { s.StartsAt = new(r.StartsAt) }, true},
		"another start":    {func(s *rain.RainSpec) { s.StartsAt = new(r.StartsAt + 1) }, false},
		"another duration": {func(s *rain.RainSpec) { s.DurationMS++ }, false},
		"another pacing":   {func(s *rain.RainSpec) { s.Pacing = rain.PacingEven }, false},
		"other beats":      {func(s *rain.RainSpec) { s.BeatMS++ }, false},
		"nothing like it":  {func(s *rain.RainSpec) { *s = rain.RainSpec{StartsAt: new(r.StartsAt)} }, false},
	} {
		s := spec
		tc.change(&s)
		testenv.Equal(t, r.Matches(s), tc.want, "%s", name)
	}
}
