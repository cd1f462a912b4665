//go:build linux

package main

import (
	"time"

	"redrain/internal/bench"
)

// measureSettled lets wins come at the same rate on both, and waits until the ledger has them all.
func measureSettled(r *run) {
	const rate = 4000 // about as many as the baseline can settle
	database := []*database{newDatabase(r.scope), newDatabase(r.scope)}
	ours := startRedrain(r.scope, r.back, r.back.flags(r.scope, database[0], "gateway,relay,settle,operator")...)
	other := startBaseline(r.scope, r.back, "--mysql", database[1].dsn)
	cpu := line{What: "processor time of a win from tap to ledger, all servers, µs", Than: other.name}
	took := line{What: "seconds until the wins of 5 s at " + thousands(rate) + " taps/s are in the ledger",
		Than: other.name}
	for range r.long() {
		for i, c := range []*contestant{ours, other} {
			figures := r.settle(c, database[i], bench.Plan{Duration: window, Rate: rate})
			put(c == ours, &cpu, figures[0])
			put(c == ours, &took, figures[1])
		}
	}
	r.add(cpu, took)
}

// settle is the turn of one contestant: µs of processor time of a win, and seconds until all are paid.
func (r *run) settle(c *contestant, db *database, plan bench.Plan) [2]float64 {
	campaign := c.open(packets)
	crowd, leave := r.gather(c, campaign, players)
	defer leave()
	duration, fall, drops := dense()
	c.rain(campaign, falling(duration, drops, fall))
	r.play(crowd, bench.Plan{Duration: warmUp, Watch: true})
	processes := append([]process{c.process, db.server, r.back.nats}, r.back.processes...)
	before, err := read(processes)
	r.check("before", err)
	report, _ := r.play(crowd, plan)
	r.won(c, report)
	for {
		var paid int64
		r.check("count the payouts", db.QueryRowContext(r.ctx, "SELECT COUNT(*) FROM payout WHERE campaign_id = ?",
			campaign).Scan(&paid))
		if paid == report.Outcomes["won"] {
			break
		}
		r.wait(50 * time.Millisecond)
	}
	after, err := read(processes)
	r.check("after", err)
	used := after.since(before)
	r.Logf("  %-9s %d wins are in the ledger after %.1f s, processor seconds %v", c.name, report.Answered,
		used.took.Seconds(), used)
	return [2]float64{used.micros(report.Answered, ofServer, ofRedis, ofNATS, ofDatabase), used.took.Seconds()}
}
