//go:build linux

package main

import (
	"time"

	"redrain/internal/bench"
)

// waveDrops is the number of drops a second that makes waves of 450 bytes.
const waveDrops = 96

func measureFanout(r *run) {
	ours, other := r.pair()
	for _, n := range []int{1000, 15_000} {
		rounds := r.rounds
		if n > 1000 {
			rounds = r.long()
		}
		cpu := line{What: "processor time of a delivery, waves of 450 bytes to " + thousands(n) + " members, µs",
			Than: other.name}
		last := line{What: "– until the last member has a wave, worst wave, ms", Than: other.name, Plain: true}
		middle := line{What: "– until the last member has a wave, median wave, ms", Than: other.name, Plain: true}
		if n == 15_000 {
			middle.Goal = atMost(250)
		}
		came := line{What: "– share of the waves due that came", Than: other.name, Plain: true, Goal: atLeast(1)}
		for range rounds {
			for _, c := range []*contestant{ours, other} {
				report, used := r.shower(c, n)
				put(c == ours, &cpu, used.micros(delivered(report), ofServer))
				spreads := make([]float64, 0, len(report.WaveSpreads))
				for _, d := range report.WaveSpreads {
					spreads = append(spreads, float64(d.Microseconds())/1000)
				}
				put(c == ours, &last, spreads[len(spreads)-1])
				put(c == ours, &middle, median(spreads))
				put(c == ours, &came, float64(report.Waves.Received)/float64(report.Waves.Expected))
			}
		}
		r.add(cpu, middle, last, came)
	}
}

// delivered counts deliveries to members: frames, which include the room's figures, or waves where several of them
// went out in one frame.
func delivered(report *bench.Report) int64 { return max(report.Frames, report.AllWaves) }

// shower is the turn of one contestant: a rain without taps.
func (r *run) shower(c *contestant, members int) (*bench.Report, usage) {
	campaign := c.open(1000)
	crowd, leave := r.gather(c, campaign, members)
	defer leave()
	r.play(crowd, bench.Plan{Duration: warmUp, Watch: true})
	c.rain(campaign, falling(warmUp+2*window, waveDrops, 4*time.Second))
	r.play(crowd, bench.Plan{Duration: warmUp, Watch: true})
	report, used := r.play(crowd, bench.Plan{Duration: window, Watch: true}, c.process, self())
	if len(report.WaveSpreads) == 0 {
		r.Fatalf("%s: no wave came", c.name)
	}
	r.Logf("  %-9s %d members: %d frames, %.2f µs for each delivery; the last has a wave after %v; "+
		"%d of %d waves came in time", c.name, members, report.Frames, used.micros(delivered(report), ofServer),
		report.WaveSpreads[len(report.WaveSpreads)-1], report.Waves.Received, report.Waves.Expected)
	return report, used
}
