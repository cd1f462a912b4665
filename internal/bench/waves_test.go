package bench

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/wire"
	"redrain/rain"
)

// theRain starts at 10 s of the server, and has a wave with drops every half second (2 drops a second) for 5 s.
func theRain(phase rain.Phase) *wire.Rain {
	return &wire.Rain{
		ID: "r1", Campaign: "c1", Phase: phase, StartsAt: 10_000, EndsAt: 17_000, FirstWave: 40,
		Settings: rain.Settings{DurationMS: 5_000, DropsPerSecond: 2, FallMS: 2_000},
	}
}

// fall sends the first player the waves that appear in a time, but for some.
func (r *rig) fall(fromMS, untilMS int64, without ...int64) {
	s := rain.Rain{StartsAt: 10_000, FirstWave: 40, Settings: theRain(rain.PhaseFalling).Settings}
	for n := s.FirstWave; s.Has(n); n++ {
		if at := s.WaveAt(n); at >= fromMS && at < untilMS && len(s.Wave(n).Drops) > 0 && !slices.Contains(without, n) {
			r.tell(0, wire.WaveOf("r1", s.Wave(n)))
		}
	}
}

func (r *rig) phase(phase rain.Phase) {
	r.tell(0, wire.RainChange{Type: wire.TypeRain, Rain: theRain(phase)})
}

// Waves with drops appear at 10.25, 10.75 and so on; each comes half a second before.
func TestExpectedWaves(t *testing.T) {
	for name, tc := range map[string]struct {
		play               func(*rig)
		expected, received int64
	}{
		"all": {func(r *rig) {
			r.phase(rain.PhaseCountdown)
			r.fall(0, 12_000)
			r.phase(rain.PhaseFalling)
			r.fall(12_000, 20_000)
			r.at(17_000)
			r.phase(rain.PhaseEnded)
			r.at(30_000)
		}, 10, 10},
		"some do not come": {func(r *rig) {
			r.phase(rain.PhaseCountdown)
			r.fall(0, 20_000, 41, 47)
			r.at(17_000)
		}, 10, 8},
		"the play ends in the middle": {func(r *rig) {
			r.phase(rain.PhaseCountdown)
			r.fall(0, 12_500) // 10.25, 10.75, 11.25, 11.75 and, early, 12.25
			r.at(12_000)
		}, 4, 4},
		"stopped": {func(r *rig) {
			r.phase(rain.PhaseCountdown)
			r.fall(0, 12_500)
			r.at(12_000)
			stopped := theRain(rain.PhaseEnded)
			stopped.EndsAt = 11_900
			r.tell(0, wire.RainChange{Type: wire.TypeRain, Rain: stopped})
			r.at(20_000)
		}, 4, 4},
		"paused for a second": {func(r *rig) {
			r.phase(rain.PhaseFalling)
			r.fall(0, 12_000)
			r.at(12_000)
			r.phase(rain.PhasePaused)
			r.at(13_000)
			r.phase(rain.PhaseFalling)
			r.fall(13_000, 20_000)
			r.at(20_000)
		}, 8, 8},
		"the play begins in the middle": {func(r *rig) {
			r.phase(rain.PhaseCountdown)
			r.fall(0, 12_500)
			r.at(12_000)
			r.start(Plan{Duration: time.Minute, Watch: true})
			r.fall(12_500, 20_000)
			r.at(17_000)
		}, 6, 6},
		"gone for a second": {func(r *rig) {
			r.phase(rain.PhaseFalling)
			r.fall(0, 12_000)
			r.at(12_000)
			r.players[0].hangUp()
			r.at(13_000)
			r.players[0].connect(rigSocket{r, 0})
			r.tell(0, wire.Welcome{Type: wire.TypeWelcome, ServerTime: 13_000, Rain: theRain(rain.PhaseFalling)})
			r.fall(11_000, 20_000) // the server repeats the waves in the air, and sends those that were missed
			r.at(17_000)
		}, 8, 8},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 1)
				r.at(9_000)
				r.start(Plan{Duration: time.Minute, Watch: true})
				tc.play(r)
				if c := r.end(); c.Waves.Expected != tc.expected || c.Waves.Received != tc.received {
					t.Errorf("%d of %d waves, want %d of %d", c.Waves.Received, c.Waves.Expected, tc.received,
						tc.expected)
				}
			})
		})
	}
}

// A wave is decoded once for all; another one under its number is a fault. Waves in the air say nothing of how fast
// they are handed out to players who come in later.
func TestWavesOfSeveralPlayers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 4)
		r.at(500)
		r.start(Plan{Duration: time.Minute, Watch: true})
		r.tell(0, aWave(2, 100, 200))
		r.at(502)
		r.tell(1, aWave(2, 100, 200))
		r.tell(2, aWave(2, 100, 201))
		r.at(3_000)
		r.players[3].cameAt = 2_900
		r.tell(3, aWave(2, 100, 200))
		spreads := r.views["c1"].spreads(r.begin)
		if len(spreads) != 1 || spreads[0] != 2*time.Millisecond {
			t.Errorf("spreads %v", spreads)
		}
		if c := r.end(); c.AllWaves != 3 || c.Waves.Late != 1 || c.Faults[errDiffers.Error()] != 1 {
			t.Errorf("%d waves, %d late, faults %v", c.AllWaves, c.Waves.Late, c.Faults)
		}
	})
}
