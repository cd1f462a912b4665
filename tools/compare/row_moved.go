//go:build linux

package main

import (
	"strconv"

	"redrain/internal/bench"
	"redrain/rain"
)

// measureMoved lets all players be at home on a few of many shards, so that most of what they win has to be moved
// there, and compares that with the same players on shards that have enough.
func measureMoved(r *run) {
	const (
		shards = 16
		homes  = 4
		plenty = 8_000_000
	)
	ours := r.gatewayAlone(r.scope)
	rate := line{What: "taps/s while stock moves, all players at home on 4 of 16 shards", Than: "shards with enough"}
	won := line{What: "– share of the taps that win", Than: "shards with enough", Goal: atLeast(0.99)}
	p99 := line{What: "– p99 from tap to result, ms", Than: "shards with enough"}
	moved := line{What: "– packets moved in the meantime"}
	name := atHomeOn(homes, shards)
	for range r.rounds {
		report, _ := r.residents(ours, plenty, shards, name)
		put(false, &rate, report.TapsPerSecond())
		put(false, &won, share(report))
		put(false, &p99, millis(report, 99))
		// Twice what is won, all in all: where the players are at home half of what they win lies.
		scarce := 2 * int(report.Answered)
		report, n := r.residents(ours, scarce, shards, name)
		put(true, &rate, report.TapsPerSecond())
		put(true, &won, share(report))
		put(true, &p99, millis(report, 99))
		moved.Ours = append(moved.Ours, n)
	}
	r.add(rate, won, p99, moved)
}

// residents is a turn of players who are all at home on a few of some shards: what they report, and how many packets
// were moved meanwhile.
func (r *run) residents(c *contestant, packets, shards int, name func(int) string) (report *bench.Report,
	moved float64) {
	campaign := c.deal(packets, shards)
	crowd, leave := r.gatherAs(c, campaign, players, name)
	defer leave()
	duration, fall, drops := dense()
	c.rain(campaign, falling(duration, drops, fall))
	r.play(crowd, bench.Plan{Duration: warmUp, Watch: true})
	before := c.metric(r.scope, "redrain_moved_packets_total")
	report, _ = r.play(crowd, bench.Plan{Duration: window})
	moved = c.metric(r.scope, "redrain_moved_packets_total") - before
	r.Logf("  %7d packets: %8.0f taps/s, %.4f of them won, p99 %.1f ms, %.0f packets moved: %v", packets,
		report.TapsPerSecond(), share(report), millis(report, 99), moved, report.Outcomes)
	return report, moved
}

// share is the part of the taps that have won.
func share(report *bench.Report) float64 {
	return float64(report.Outcomes["won"]) / float64(report.Answered)
}

// atHomeOn names players who are all at home on the first few of some shards.
func atHomeOn(homes, shards int) func(player int) string {
	var names []string
	for n := 0; len(names) < players; n++ {
		if name := "resident-" + strconv.Itoa(n); rain.HomeShard(name, shards) < homes {
			names = append(names, name)
		}
	}
	return func(player int) string { return names[player] }
}
