package rain_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
)

var classNames = map[rain.TapClass]string{
	rain.InAir: "in air", rain.IsDecoy: "decoy", rain.UnknownDrop: "unknown", rain.TooLate: "late",
	rain.NotOpen: "not open",
}

// find is the first drop of a kind from a wave on.
func find(t *testing.T, r *rain.Rain, from int64, kind rain.Kind) (rain.DropID, rain.Drop) {
	t.Helper()
	for n := from; r.Has(n); n++ {
		for _, d := range r.Wave(n).Drops {
			if d.Kind == kind {
				return rain.DropID{N: n, K: d.K}, d
			}
		}
	}
	t.Fatalf("no drop of kind %d from wave %d on", kind, from)
	return rain.DropID{}, rain.Drop{}
}

// classify is the class of a tap by a new sky.
func classify(r *rain.Rain, id rain.DropID, now int64, paused bool) rain.TapClass {
	return rain.NewSky(r).Classify(id, now, paused)
}

// TestClassify has the cases that TestClassifyEveryMillisecond lacks.
func TestClassify(t *testing.T) {
	t.Parallel()
	r := testRain()
	id, drop := find(t, &r, 48, rain.Packet)
	at, landed := r.WaveAt(id.N), r.LandedAt()
	stopped, stoppedEarly := r, r
	stopped.StoppedAt, stoppedEarly.StoppedAt = at+100, r.StartsAt-10
	for _, tc := range []struct {
		name   string
		r      *rain.Rain
		id     rain.DropID
		now    int64
		paused bool
		want   rain.TapClass
	}{
		{"no rain", nil, id, at, false, rain.NotOpen},
		{"long before", &r, id, 0, false, rain.NotOpen},
		{"paused, before it appears", &r, id, at - 1, true, rain.NotOpen},
		{"paused", &r, id, at, true, rain.NotOpen},
		{"paused, after it landed", &r, id, at + drop.FallMS + rain.GraceMS, true, rain.NotOpen},
		{"a wave that never comes", &r, rain.DropID{N: math.MaxInt64, K: math.MaxInt}, landed, false, rain.UnknownDrop},
		{"less than none", &r, rain.DropID{N: id.N, K: -1}, at, false, rain.UnknownDrop},
		{"a wave of the rain before", &r, rain.DropID{N: 39}, at, false, rain.TooLate},
		{"a wave of the rain before, in the countdown", &r, rain.DropID{N: 39}, r.StartsAt - 1, false, rain.NotOpen},
		{"a ms before the stop", &stopped, id, at + 99, false, rain.InAir},
		{"stopped: no grace", &stopped, id, at + 100, false, rain.NotOpen},
		{"stopped before it began", &stoppedEarly, id, at, false, rain.NotOpen},
	} {
		if got := classify(tc.r, tc.id, tc.now, tc.paused); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, classNames[got], classNames[tc.want])
		}
	}
}

// TestClassifyEveryMillisecond follows all drops of a short rain through its whole life, and a bit more. It compares
// each answer with the waves as players see them.
func TestClassifyEveryMillisecond(t *testing.T) {
	t.Parallel()
	r := testRain()
	r.DurationMS, r.DropsPerSecond, r.FallMS, r.DecoyPercent = 1_100, 6, 500, 40
	type seen struct {
		at   int64
		drop rain.Drop
	}
	drops := map[rain.DropID]seen{{N: 41, K: 99}: {}, {N: 46, K: 0}: {}}
	for _, w := range waves(&r) {
		for _, d := range w.Drops {
			drops[rain.DropID{N: w.N, K: d.K}] = seen{w.At, d}
		}
	}
	if len(drops) != r.Drops()+2 {
		t.Fatalf("%d drops in the waves, the rain has %d", len(drops)-2, r.Drops())
	}
	sky := rain.NewSky(&r)
	for now := r.StartsAt - 3; now < r.LandedAt()+rain.GraceMS+3; now++ {
		for id, s := range drops {
			var want rain.TapClass
			switch {
			case now < r.StartsAt || now >= r.LandedAt()+rain.GraceMS:
				want = rain.NotOpen
			case s.at == 0 || now < s.at:
				want = rain.UnknownDrop
			case now >= s.at+s.drop.FallMS+rain.GraceMS:
				want = rain.TooLate
			case s.drop.Kind == rain.Decoy:
				want = rain.IsDecoy
			default:
				want = rain.InAir
			}
			if got := sky.Classify(id, now, false); got != want {
				t.Fatalf("drop %v at start%+d ms: %s, want %s", id, now-r.StartsAt, classNames[got],
					classNames[want])
			}
		}
	}
}

func TestClassifyAllocatesNothing(t *testing.T) {
	r := testRain()
	id := rain.DropID{N: 48, K: 0}
	now := r.WaveAt(48) + 1
	sky := rain.NewSky(&r)
	sky.Classify(id, now, false) // hashes the wave
	testenv.Equal(t, testing.AllocsPerRun(100, func() { sky.Classify(id, now, false) }), 0, "allocations for each tap")
}

func TestPhase(t *testing.T) {
	t.Parallel()
	r := testRain()
	stopped := r
	stopped.StoppedAt = r.StartsAt + 1_000
	for _, tc := range []struct {
		r      *rain.Rain
		now    int64
		paused bool
		want   rain.Phase
	}{
		{&r, r.StartsAt - 1, false, rain.PhaseCountdown},
		{&r, r.StartsAt - 1, true, rain.PhasePaused},
		{&r, r.StartsAt, false, rain.PhaseFalling},
		{&r, r.StartsAt, true, rain.PhasePaused},
		{&r, r.StartsAt + r.DurationMS, false, rain.PhaseFalling},
		{&r, r.LandedAt() - 1, false, rain.PhaseFalling},
		{&r, r.LandedAt() - 1, true, rain.PhasePaused},
		{&r, r.LandedAt(), false, rain.PhaseEnded},
		{&r, r.LandedAt(), true, rain.PhaseEnded},
		{&stopped, r.StartsAt + 999, false, rain.PhaseFalling},
		{&stopped, r.StartsAt + 1_000, false, rain.PhaseEnded},
		{&stopped, r.StartsAt + 1_000, true, rain.PhaseEnded},
	} {
		if got := tc.r.Phase(tc.now, tc.paused); got != tc.want {
			t.Errorf("start%+d paused %v stopped at %d: %s, want %s", tc.now-r.StartsAt, tc.paused, tc.r.StoppedAt, got,
				tc.want)
		}
	}
}

func TestEndOfARain(t *testing.T) {
	t.Parallel()
	r := testRain()
	landed := r.StartsAt + 10_000 + 4_000
	if r.LandedAt() != landed || r.EndsAt() != landed || r.TapsUntil() != landed+500 {
		t.Errorf("lands %d, ends %d, taps until %d; want %d, %d, %d", r.LandedAt(), r.EndsAt(), r.TapsUntil(), landed,
			landed, landed+500)
	}
	r.StoppedAt = r.StartsAt + 5
	if r.LandedAt() != landed || r.EndsAt() != r.StoppedAt || r.TapsUntil() != r.StoppedAt {
		t.Errorf("stopped at %d: lands %d, ends %d, taps until %d", r.StoppedAt, r.LandedAt(), r.EndsAt(),
			r.TapsUntil())
	}
}

func TestParseDropAllocatesNothing(t *testing.T) {
	testenv.Equal(t, testing.AllocsPerRun(100, func() { _, _ = rain.ParseDrop("123456.17") }), 0,
		"allocations for each tap")
}

// FuzzParseDrop compares with a slow reading by the standard library.
func FuzzParseDrop(f *testing.F) {
	for _, text := range []string{
		"0.0", "7.3", "10.0", "123456789012345.999999999999999", "", ".", "7", "7.", ".3", "07.3", "7.03", "00.0",
		"+7.3", "7.+3", "-7.3", "7.-3", " 7.3", "7.3 ", "7. 3", "7.3.1", "7,3", "7.3\n", "7.3\x00",
		"7.a", "a.3", "0x7.3", "1e3.1", "7_0.3", "７.３", "٧.٣", "..", "7..3", "1234567890123456.0",
		"0.1234567890123456", "9223372036854775808.0",
		"18446744073709551616.0", strings.Repeat("9", 4_000) + ".1", "1." + strings.Repeat("0", 4_000),
	} {
		f.Add(text)
	}
	number := func(s string) (int64, bool) {
		n, err := strconv.ParseInt(s, 10, 64)
		return n, err == nil && n >= 0 && strconv.FormatInt(n, 10) == s && len(s) <= 15
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, b, _ := strings.Cut(text, ".")
		n, okN := number(a)
		k, okK := number(b)
		want := rain.DropID{N: n, K: int(k)}
		if !okN || !okK {
			want = rain.DropID{}
		}
		id, ok := rain.ParseDrop(text)
		if ok != (okN && okK) || id != want {
			t.Fatalf("%q: %v, %v", text, id, ok)
		}
		if ok && id.String() != text {
			t.Fatalf("%q prints as %q", text, id)
		}
	})
}

// TestCheckTicket: a drop may have won from ten seconds before it fell, because clocks differ. The limit is ten seconds
// after a tap on it was too late, because taps may wait. A decoy never wins, nor does a drop that is in no rain of the
// campaign.
func TestCheckTicket(t *testing.T) {
	t.Parallel()
	first := rain.Rain{
		StartsAt: 1_000_000, Seed: seedOf(1),
		Settings: rain.Settings{DurationMS: 2_000, DropsPerSecond: 10, FallMS: 4_000, DecoyPercent: 40},
	}
	second := first
	second.StartsAt, second.FirstWave, second.Seed = 5_000_000, 8, seedOf(2)
	second.StoppedAt = second.StartsAt + 1 // wins before the nodes' notice of the stop are paid
	c := &rain.Campaign{Rains: []rain.Rain{first, second}}
	decoys := 0
	for _, r := range c.Rains {
		for n := r.FirstWave; n < r.FirstWave+r.Waves(); n++ {
			for _, d := range r.Wave(n).Drops {
				drop, appears := rain.DropID{N: n, K: d.K}.String(), r.WaveAt(n)
				if d.Kind == rain.Decoy {
					decoys++
					if c.CheckTicket("u1", drop, appears+100) == nil {
						t.Errorf("drop %s is a decoy", drop)
					}
					continue
				}
				end := appears + d.FallMS + rain.GraceMS
				for at, good := range map[int64]bool{appears - 10_001: false, appears - 10_000: true, appears: true,
					end:         true,
					end + 9_999: true, end + 10_000: false, 0: false, -1 << 62: false, 1 << 62: false} {
					if err := c.CheckTicket("u1", drop, at); (err == nil) != good {
						t.Errorf("drop %s, %d ms after it appeared: %v", drop, at-appears, err)
					}
				}
			}
		}
	}
	if decoys < 5 {
		t.Errorf("%d decoys: this tests little", decoys)
	}
	for _, drop := range []string{"", "0", "0.", ".0", "0.99", "16.0", "99.0", "-1.0", "0.-1", "00.0", "0.0 ", "0.0\n",
		"999999999999999.0", "0.999999999999999", "9999999999999999999.0"} {
		if c.CheckTicket("u1", drop, 1_000_100) == nil {
			t.Errorf("%q is a drop", drop)
		}
	}
	if (&rain.Campaign{}).CheckTicket("u1", "0.0", 1_000_100) == nil {
		t.Error("a campaign without a rain has a drop")
	}
}
