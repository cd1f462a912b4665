//go:build linux

package main

import (
	"time"

	"redrain/internal/bench"
)

// measureLone lets taps come one by one: what a tap takes when no other is under way.
func measureLone(r *run) {
	ours, other := r.pair()
	plan := bench.Plan{Duration: 15 * time.Second, Rate: 100}
	p50 := line{What: "p50 from tap to result at 100 taps/s, ms", Than: other.name}
	p99 := line{What: "– p99, ms", Than: other.name}
	cpu := line{What: "– processor time of a tap, gateway + Redis, µs", Than: other.name}
	for range r.rounds {
		for _, c := range []*contestant{ours, other} {
			report, used, _ := r.storm(c, plan, r.back.processes...)
			put(c == ours, &p50, millis(report, 50))
			put(c == ours, &p99, millis(report, 99))
			put(c == ours, &cpu, used.micros(report.Answered, ofServer, ofRedis))
		}
	}
	r.add(p50, p99, cpu)
}
