package rain_test

import (
	"testing"

	"redrain/rain"
)

// TestCheckTicket: a drop may have won from ten seconds before it fell, for clocks that differ, until ten seconds
// after a tap on it was too late, for taps that waited; a decoy never, and neither what no rain of the campaign had.
func TestCheckTicket(t *testing.T) {
	t.Parallel()
	first := rain.Rain{
		StartsAt: 1_000_000, Seed: seedOf(1),
		Settings: rain.Settings{DurationMS: 2_000, DropsPerSecond: 10, FallMS: 4_000, DecoyPercent: 40},
	}
	second := first
	second.StartsAt, second.FirstWave, second.Seed = 5_000_000, 8, seedOf(2)
	second.StoppedAt = second.StartsAt + 1 // what has won before nodes have heard of it is paid
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
