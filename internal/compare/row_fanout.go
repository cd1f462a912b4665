//go:build linux

package main

import (
	"time"

	"redrain/internal/bench"
)

// waveDrops a second make a wave of 450 bytes.
const waveDrops = 84

func measureFanout(r *run) {
	ours, other := r.gatewayAlone(r.scope), startBare(r.scope)
	for _, n := range []int{1000, 15_000} {
		cpu := line{What: "processor time of a delivered frame, waves of 450 bytes to " + thousands(n) + " members, µs", Than: other.name, Goal: atMost(1.15)}
		last := line{What: "– until the last member has a wave, worst wave, ms", Than: other.name, Plain: true}
		middle := line{What: "– until the last member has a wave, median wave, ms", Than: other.name, Plain: true}
		if n == 15_000 {
			middle.Goal = atMost(250)
		}
		for range r.rounds {
			for _, c := range []*contestant{ours, other} {
				report, used := r.shower(c, n)
				put(c == ours, &cpu, used.micros(report.Frames, ofServer))
				spreads := make([]float64, 0, len(report.WaveSpreads))
				for _, d := range report.WaveSpreads {
					spreads = append(spreads, float64(d.Microseconds())/1000)
				}
				put(c == ours, &last, spreads[len(spreads)-1])
				put(c == ours, &middle, median(spreads))
			}
		}
		r.add(cpu, middle, last)
	}
}

// shower is one contestant's turn: a rain that nobody taps.
func (r *run) shower(c *contestant, members int) (*bench.Report, usage) {
	campaign := c.open(1000)
	crowd, leave := r.gather(c, campaign, members, 0)
	defer leave()
	r.play(crowd, bench.Plan{Duration: warmUp, Watch: true})
	c.rain(campaign, falling(20*time.Second, waveDrops, 4*time.Second))
	r.play(crowd, bench.Plan{Duration: warmUp, Watch: true})
	report, used := r.play(crowd, bench.Plan{Duration: window, Watch: true}, c.process, self())
	if report.WavesReceived < report.WavesExpected || len(report.WaveSpreads) == 0 {
		r.Fatalf("%s: %d of %d waves came", c.name, report.WavesReceived, report.WavesExpected)
	}
	r.Logf("  %-9s %d members: %d frames, %.2f µs each; the last has a wave after %v", c.name, members, report.Frames,
		used.micros(report.Frames, ofServer), report.WaveSpreads[len(report.WaveSpreads)-1])
	return report, used
}

func measureStalled(r *run) {
	const rate = 2000 // taps/s: so few that only the fan-out could delay them
	ours := r.gatewayAlone(r.scope)
	p99 := line{What: "p99 from tap to result with 5 % of 1,000 members stalled, ms", Than: "none stalled"}
	last := line{What: "– until the last of the others has a wave, median wave, ms", Than: "none stalled"}
	for range r.rounds {
		for _, stalled := range []int{players / 20, 0} {
			report := r.stall(ours, stalled, rate)
			put(stalled > 0, &p99, millis(report, 99))
			put(stalled > 0, &last, float64(report.WaveSpreads[len(report.WaveSpreads)/2].Microseconds())/1000)
		}
	}
	r.add(p99, last)
}

func (r *run) stall(c *contestant, stalled int, rate float64) *bench.Report {
	const fills = 15 * time.Second // until the stalled members' buffers are full
	campaign := c.open(packets)
	crowd, leave := r.gather(c, campaign, players, stalled)
	defer leave()
	c.rain(campaign, falling(time.Minute, 400, 20*time.Second))
	r.play(crowd, bench.Plan{Duration: fills, Watch: true})
	report, _ := r.play(crowd, bench.Plan{Duration: 2 * window, Rate: rate}, c.process, self())
	r.won(c, report)
	r.Logf("  %d stalled: p50 %.2f p99 %.2f ms; the last has a wave after %v; closed %v", stalled, millis(report, 50), millis(report, 99),
		report.WaveSpreads[len(report.WaveSpreads)/2], report.Closes)
	return report
}
