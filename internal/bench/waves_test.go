package bench

import (
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/rain"
)

// theRain starts at 10 s of the server, and has a wave with drops every half second (2 drops a second) for 5 s.
func theRain(phase rain.Phase) *wire.Rain {
	return &wire.Rain{
		ID: "r1", Campaign: "c1", Phase: phase, StartsAt: 10_000, EndsAt: 17_000, DurationMS: 5_000, DropsPerSecond: 2,
		FallMS: 2_000, FirstWave: 40,
	}
}

// fall sends the first player the waves that appear in a time, but for some.
func (r *rig) fall(fromMS, untilMS int64, without ...int64) {
	r.t.Helper()
	s := rain.Rain{StartsAt: 10_000, DurationMS: 5_000, DropsPerSecond: 2, FallMS: 2_000, FirstWave: 40}
	for n := s.FirstWave; s.Has(n); n++ {
		at := s.WaveAt(n)
		skip := at < fromMS || at >= untilMS || len(s.Wave(n).Drops) == 0
		for _, w := range without {
			skip = skip || n == w
		}
		if !skip {
			w := wire.WaveOf("r1", s.Wave(n))
			r.tell(0, w)
		}
	}
}

// Waves with drops appear at 10.25, 10.75 and so on; each comes half a second before.
func TestWavesAgainstExpected(t *testing.T) {
	begin := func(t *testing.T) *rig {
		t.Helper()
		r := newRig(t, 1)
		r.at(9_000)
		r.start(Plan{Duration: time.Minute, Watch: true}, r.now)
		return r
	}
	told := func(r *rig, phase rain.Phase) { r.tell(0, wire.RainChange{Type: wire.TypeRain, Rain: theRain(phase)}) }
	check := func(t *testing.T, r *rig, expected, received int64) {
		t.Helper()
		r.stop()
		if r.tally.expected != expected || r.tally.received != received {
			t.Errorf("%d of %d waves, want %d of %d", r.tally.received, r.tally.expected, received, expected)
		}
	}
	t.Run("all", func(t *testing.T) {
		r := begin(t)
		told(r, rain.PhaseCountdown)
		r.fall(0, 12_000)
		told(r, rain.PhaseFalling)
		r.fall(12_000, 20_000)
		r.at(17_000)
		told(r, rain.PhaseEnded)
		r.at(30_000)
		check(t, r, 10, 10)
	})
	t.Run("some do not come", func(t *testing.T) {
		r := begin(t)
		told(r, rain.PhaseCountdown)
		r.fall(0, 20_000, 41, 47)
		r.at(17_000)
		check(t, r, 10, 8)
	})
	t.Run("the end comes in the middle", func(t *testing.T) {
		r := begin(t)
		told(r, rain.PhaseCountdown)
		r.fall(0, 12_500) // 10.25, 10.75, 11.25, 11.75 and, early, 12.25
		r.at(12_000)
		check(t, r, 4, 4)
	})
	t.Run("stopped", func(t *testing.T) {
		r := begin(t)
		told(r, rain.PhaseCountdown)
		r.fall(0, 12_500)
		r.at(12_000)
		stopped := theRain(rain.PhaseEnded)
		stopped.EndsAt = 11_900
		r.tell(0, wire.RainChange{Type: wire.TypeRain, Rain: stopped})
		r.at(20_000)
		check(t, r, 4, 4)
	})
	t.Run("paused for a second", func(t *testing.T) {
		r := begin(t)
		told(r, rain.PhaseFalling)
		r.fall(0, 12_000)
		r.at(12_000)
		told(r, rain.PhasePaused)
		r.at(13_000)
		told(r, rain.PhaseFalling)
		r.fall(13_000, 20_000)
		r.at(20_000)
		check(t, r, 8, 8)
	})
	t.Run("the play begins in the middle", func(t *testing.T) {
		r := begin(t)
		told(r, rain.PhaseCountdown)
		r.fall(0, 12_500)
		r.at(12_000)
		r.start(Plan{Duration: time.Minute, Watch: true}, r.now)
		r.fall(12_500, 20_000)
		r.at(17_000)
		check(t, r, 6, 6)
	})
	t.Run("gone for a second", func(t *testing.T) {
		r := begin(t)
		told(r, rain.PhaseFalling)
		r.fall(0, 12_000)
		r.at(12_000)
		r.hangUp(r.players[0])
		r.at(13_000)
		r.players[0].sock = &tapeSocket{r, r.players[0]}
		r.tell(0, wire.Welcome{Type: wire.TypeWelcome, ServerTime: 13_000, Rain: theRain(rain.PhaseFalling)})
		r.fall(11_000, 20_000) // what is in the air is told again, and what was missed
		r.at(17_000)
		check(t, r, 8, 8)
	})
}

// A wave is read once for all; another one under its number is a fault.
func TestWavesOfSeveralPlayers(t *testing.T) {
	r := newRig(t, 3)
	for _, p := range r.players {
		p.cameAt = -catchUp
	}
	r.at(500)
	r.start(Plan{Duration: time.Minute, Watch: true}, r.now)
	r.tell(0, aWave(2, 100, 200))
	r.at(502)
	r.tell(1, aWave(2, 100, 200))
	r.tell(2, aWave(2, 100, 201))
	if r.tally.waves != 2 || r.tally.late != 1 || r.tally.faults["a wave that differs from what others got"] != 1 {
		t.Errorf("%d waves, %d late, faults %v", r.tally.waves, r.tally.late, r.tally.faults)
	}
	first, last := map[waveID]int64{}, map[waveID]int64{}
	r.views["c1"].spread("c1", 0, first, last)
	if id := (waveID{"c1", 2}); time.Duration(last[id]-first[id]) != 2*time.Millisecond {
		t.Errorf("first %v, last %v", first, last)
	}
}

// The waveWindow against a set, in any order that comes about.
func TestEar(t *testing.T) {
	random := testenv.Random(t)
	for range 200 {
		var e waveWindow
		heard := map[int64]bool{}
		base := random.Int64N(100)
		for range 100 {
			n := max(0, base-random.Int64N(20))
			base += random.Int64N(3)
			if got, want := e.hear(n, 0), !heard[n]; got != want {
				t.Fatalf("wave %d: new %v, want %v", n, got, want)
			}
			heard[n] = true
			from := e.last - random.Int64N(40)
			want := int64(0)
			for m := range heard {
				if m >= from {
					want++
				}
			}
			if got := e.from(from); got != want {
				t.Fatalf("%d waves from %d on, want %d", got, from, want)
			}
		}
	}
}

// Who comes in late gets what is in the air; that says nothing of how fast waves are handed out.
func TestNewcomersDoNotCountAsLate(t *testing.T) {
	r := newRig(t, 2)
	r.players[0].cameAt = -catchUp
	r.at(400)
	r.tell(0, aWave(2, 5_000))
	r.at(3_000)
	r.players[1].cameAt = 2_900
	r.tell(1, aWave(2, 5_000))
	if w := r.views["c1"].waves[2]; r.tally.late != 0 || w.last != w.first {
		t.Errorf("%d late, first %d, last %d", r.tally.late, w.first, w.last)
	}
}
