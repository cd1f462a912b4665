//go:build linux

package main

import (
	"time"

	"redrain/internal/bench"
)

func measureSoldOut(r *run) {
	ours := r.gatewayAlone(r.scope)
	calls := line{What: "Redis calls for a tap after the last packet", Goal: atMost(0.01)}
	rate := line{What: "– taps/s, gateway alone"}
	for range r.long() {
		campaign := ours.open(1000)
		crowd, leave := r.gather(ours, campaign, players)
		ours.rain(campaign, falling(time.Minute, 400, 20*time.Second))
		r.play(crowd, bench.Plan{Duration: warmUp, Watch: true})
		r.play(crowd, bench.Plan{Duration: time.Second}) // sells out
		idle, _ := r.callsDuring(crowd, bench.Plan{Duration: window, Watch: true})
		busy, report := r.callsDuring(crowd, bench.Plan{Duration: window})
		leave()
		if report.Outcomes["won"] > 0 {
			r.Fatalf("it was not sold out: %v", report.Outcomes)
		}
		r.Logf("  %d calls in %v idle, %d with %d taps: %v", idle, window, busy, report.Answered, report.Outcomes)
		calls.Ours = append(calls.Ours, max(0, float64(busy-idle))/float64(report.Answered))
		rate.Ours = append(rate.Ours, report.TapsPerSecond)
	}
	r.add(calls, rate)
}

// callsDuring plays a plan and counts the commands that Redis serves meanwhile.
func (r *run) callsDuring(crowd *bench.Crowd, plan bench.Plan) (calls int, report *bench.Report) {
	before := r.back.calls(r.scope)
	report, _ = r.play(crowd, plan)
	return r.back.calls(r.scope) - before, report
}
