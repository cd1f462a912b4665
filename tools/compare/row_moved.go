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
		scarce = 480_000 // lasts for the turn, if all of it is moved to where the players are
		plenty = shards * scarce
	)
	ours := r.gatewayAlone(r.scope)
	rate := line{What: "taps/s while stock moves, all players at home on 4 of 16 shards", Than: "shards with enough"}
	won := line{What: "– share of the taps that win", Than: "shards with enough", Goal: atLeast(0.99)}
	p99 := line{What: "– p99 from tap to result, ms", Than: "shards with enough"}
	moved := line{What: "– packets moved in the meantime"}
	name := atHomeOn(homes, shards)
	for range r.rounds {
		for _, packets := range []int{scarce, plenty} {
			campaign := ours.deal(packets, shards)
			crowd, leave := r.gatherAs(ours, campaign, players, name)
			duration, fall, drops := dense()
			ours.rain(campaign, falling(duration, drops, fall))
			r.play(crowd, bench.Plan{Duration: warmUp, Watch: true})
			before := ours.metric(r.scope, "redrain_moved_packets_total")
			report, _ := r.play(crowd, bench.Plan{Duration: window})
			n := ours.metric(r.scope, "redrain_moved_packets_total") - before
			leave()
			share := float64(report.Outcomes["won"]) / float64(report.Answered)
			r.Logf("  %7d packets: %8.0f taps/s, %.4f of them won, p99 %.1f ms, %.0f packets moved: %v", packets,
				report.TapsPerSecond(), share, millis(report, 99), n, report.Outcomes)
			put(packets == scarce, &rate, report.TapsPerSecond())
			put(packets == scarce, &won, share)
			put(packets == scarce, &p99, millis(report, 99))
			if packets == scarce {
				moved.Ours = append(moved.Ours, n)
			} else if n > 0 {
				r.Logf("  stock has moved where there was enough")
			}
		}
	}
	r.add(rate, won, p99, moved)
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
