//go:build linux

package main

import (
	"strconv"
	"strings"
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
		rate.Ours = append(rate.Ours, report.TapsPerSecond())
	}
	r.add(calls, rate)
}

// callsDuring plays a plan and counts the commands that Redis serves meanwhile.
func (r *run) callsDuring(crowd *bench.Crowd, plan bench.Plan) (calls int, report *bench.Report) {
	before := r.back.calls(r.scope)
	report, _ = r.play(crowd, plan)
	return r.back.calls(r.scope) - before, report
}

func measureFlat(r *run) {
	const rate = 8000
	ours := r.gatewayAlone(r.scope)
	sizes := line{What: "processor time of a tap, gateway + Redis, campaign of 10 M packets, µs",
		Than: "100,000 packets", Goal: atMost(1.1)}
	script := line{What: "– a lone tap's time in Redis, campaign of 10 M packets, µs", Than: "1,000 packets",
		Goal: atMost(1.1)}
	rooms := line{What: "– gateway + Redis, room of 15,000, µs", Than: "100 members", Goal: atMost(1.1)}
	for range r.long() {
		for _, n := range []int{10_000_000, 100_000} {
			cpu, _ := r.calmTaps(ours, n, players, rate)
			put(n == 10_000_000, &sizes, cpu)
		}
		for _, n := range []int{10_000_000, 1000} {
			_, us := r.calmTaps(ours, n, players, 150) // 1,000 packets must last
			put(n == 10_000_000, &script, us)
		}
		for _, members := range []int{15_000, 100} {
			cpu, _ := r.calmTaps(ours, packets, members, rate)
			put(members == 15_000, &rooms, cpu)
		}
	}
	r.add(sizes, script, rooms)
}

// calmTaps measures what a tap costs by itself: the taps come when all waves have been sent and are still in the air,
// and what the room costs without taps is subtracted. It returns µs of processor time of gateway and Redis, and µs in
// the script.
func (r *run) calmTaps(c *contestant, packets, members int, rate float64) (cpu, script float64) {
	campaign := c.open(packets)
	crowd, leave := r.gather(c, campaign, members)
	defer leave()
	c.rain(campaign, falling(4*time.Second, 200, 20*time.Second))
	r.play(crowd, bench.Plan{Duration: 4500 * time.Millisecond, Watch: true})
	processes := append([]process{c.process}, r.back.processes...)
	_, idle := r.play(crowd, bench.Plan{Duration: 2 * time.Second, Watch: true}, processes...)
	r.play(crowd, bench.Plan{Duration: 500 * time.Millisecond, Rate: rate})
	spent := r.scriptMicros()
	report, used := r.play(crowd, bench.Plan{Duration: window, Rate: rate}, processes...)
	r.won(c, report)
	taps := report.Answered
	room := idle.micros(taps, ofServer, ofRedis) * used.took.Seconds() / idle.took.Seconds()
	cpu = used.micros(taps, ofServer, ofRedis) - room
	script = (r.scriptMicros() - spent) / float64(taps)
	r.Logf("  %d packets, %d members: %d taps, %.2f µs each and %.2f of the room; %.2f in the script, p99 %.1f ms",
		packets, members, taps, cpu, room, script, millis(report, 99))
	return cpu, script
}

// scriptMicros is how long Redis has spent in scripts, in µs.
func (r *run) scriptMicros() float64 {
	info, err := r.back.redis.InfoMap(r.ctx, "commandstats").Result()
	r.check("ask redis about its commands", err)
	for field := range strings.SplitSeq(info["Commandstats"]["cmdstat_evalsha"], ",") {
		if value, ok := strings.CutPrefix(field, "usec="); ok {
			us, err := strconv.ParseFloat(value, 64)
			r.check("read usec", err)
			return us
		}
	}
	r.Fatalf("redis reports no evalsha")
	return 0
}
