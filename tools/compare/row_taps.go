//go:build linux

package main

import (
	"runtime"
	"time"

	"redrain/internal/bench"
)

const (
	players = 1000
	packets = 1_000_000
	warmUp  = 2 * time.Second
	window  = 5 * time.Second
	gateway = "gateway,operator" // the roles of a redrain that settles nothing, as the baseline without MySQL
)

// dense are the settings of a rain in which the fastest player always finds a drop.
func dense() (duration, fall time.Duration, dropsPerSecond int) {
	return time.Minute, 20 * time.Second, 200
}

// storm is the turn of one contestant: players join a new campaign, warm it up, and tap. It returns their
// usage, and the number of commands that Redis has served.
func (r *run) storm(c *contestant, plan bench.Plan,
	others ...process) (report *bench.Report, used usage, commands float64) {
	campaign := c.open(packets)
	crowd, leave := r.gather(c, campaign, players)
	defer leave()
	duration, fall, drops := dense()
	c.rain(campaign, falling(duration, drops, fall))
	r.play(crowd, bench.Plan{Duration: warmUp, Watch: true}) // until there are drops to tap
	r.play(crowd, bench.Plan{Duration: time.Second, Rate: plan.Rate})
	before := r.back.calls(r.scope)
	report, used = r.play(crowd, plan, append(others, c.process, self())...)
	commands = float64(r.back.calls(r.scope) - before)
	r.won(c, report)
	r.Logf("  %-9s %8.0f taps/s, p50 %.1f p99 %.1f ms, processor seconds %v of %.1f s", c.name, report.TapsPerSecond,
		millis(report, 50), millis(report, 99), used, used.took.Seconds())
	return report, used, commands
}

func millis(report *bench.Report, quantile float64) float64 {
	return float64(report.Times.ValueAtQuantile(quantile)) / 1000
}

// pair starts redrain and the baseline, neither of which settles anything.
func (r *run) pair() (ours, other *contestant) {
	return startRedrain(r.scope, r.back, r.back.flags(r.scope, newDatabase(r.scope), gateway)...),
		startBaseline(r.scope, r.back)
}

func measureTaps(r *run) {
	ours, other := r.pair()
	rate := line{What: "taps/s, 1,000 players in a closed loop, every tap wins", Than: other.name, Goal: atLeast(3)}
	both := line{What: "processor time of a tap, gateway + Redis, µs", Than: other.name, Goal: atMost(0.33)}
	redis := line{What: "– Redis, where each player wins hundreds, µs", Than: other.name, Goal: atMost(0.25)}
	server := line{What: "– gateway, µs", Than: other.name}
	load := line{What: "– the load generator beside it, µs", Than: other.name}
	carry := line{What: "– taps/s that the processors carry: all of them over the processor time of a tap, " +
		"generator included", Than: other.name}
	commands := line{What: "– commands in Redis for a tap, those of the script included", Than: other.name}
	batch := line{What: "– taps that one call of redrain's script decides"}
	for range r.rounds {
		calls := ours.metric(r.scope, "redrain_grab_batch_size_count")
		taps := ours.metric(r.scope, "redrain_grab_batch_size_sum")
		for _, c := range []*contestant{ours, other} {
			report, used, asked := r.storm(c, bench.Plan{Duration: window}, r.back.processes...)
			put(c == ours, &commands, asked/float64(report.Answered))
			put(c == ours, &rate, report.TapsPerSecond)
			put(c == ours, &both, used.micros(report.Answered, ofServer, ofRedis))
			put(c == ours, &redis, used.micros(report.Answered, ofRedis))
			put(c == ours, &server, used.micros(report.Answered, ofServer))
			put(c == ours, &load, used.micros(report.Answered, ofGenerator))
			put(c == ours, &carry, float64(runtime.NumCPU())*1e6/used.micros(report.Answered, ofServer, ofRedis,
				ofGenerator))
		}
		calls = ours.metric(r.scope, "redrain_grab_batch_size_count") - calls
		taps = ours.metric(r.scope, "redrain_grab_batch_size_sum") - taps
		put(true, &batch, taps/calls)
	}
	*r.most = median(rate.Other)
	r.add(rate, both, redis, server, load, carry, commands, batch)
}

// put adds the figure of a round.
func put(ours bool, l *line, figure float64) {
	if ours {
		l.Ours = append(l.Ours, figure)
	} else {
		l.Other = append(l.Other, figure)
	}
}

func measureLatency(r *run) {
	ours, other := r.pair()
	if *r.most == 0 {
		report, _, _ := r.storm(other, bench.Plan{Duration: window}, r.back.processes...)
		*r.most = report.TapsPerSecond
	}
	plan := bench.Plan{Duration: window, Rate: *r.most * 0.9}
	p99 := line{What: "p99 from tap to result at " + short(plan.Rate) + " taps/s (90 % of the baseline's most), ms",
		Than: other.name, Goal: atMost(1)}
	p50 := line{What: "– p50, ms", Than: other.name}
	cpu := line{What: "– processor time of a tap, gateway + Redis, µs", Than: other.name}
	for range r.rounds {
		for _, c := range []*contestant{ours, other} {
			report, used, _ := r.storm(c, plan, r.back.processes...)
			put(c == ours, &p99, millis(report, 99))
			put(c == ours, &p50, millis(report, 50))
			put(c == ours, &cpu, used.micros(report.Answered, ofServer, ofRedis))
		}
	}
	r.add(p99, p50, cpu)
}

func measureInProcess(r *run) {
	ours := startRedrain(r.scope, r.back)
	rate := line{What: "taps/s in process, without any back end, 1,000 players", Goal: atLeast(5000)}
	cpu := line{What: "– processor time of a tap, µs"}
	for range r.long() {
		report, used, _ := r.storm(ours, bench.Plan{Duration: window})
		rate.Ours = append(rate.Ours, report.TapsPerSecond)
		cpu.Ours = append(cpu.Ours, used.micros(report.Answered, ofServer))
	}
	r.add(rate, cpu)
}
