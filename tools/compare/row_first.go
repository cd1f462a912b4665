//go:build linux

package main

import (
	"strconv"
	"time"

	"redrain/internal/bench"
)

// measureFirst lets each of many players win once: nothing is known of any of them, neither to the gateway nor to
// Redis. As in a storm of first wins, all tap at once.
func measureFirst(r *run) {
	const crowd = 6000 // more at once would wait too long for the baseline's connections to Redis
	ours, other := r.pair()
	redis := line{What: "processor time of Redis for a player's first win, µs", Than: other.name, Goal: atMost(0.2)}
	both := line{What: "– gateway + Redis, µs", Than: other.name, Goal: atMost(0.33)}
	for range r.rounds {
		for _, c := range []*contestant{ours, other} {
			inRedis, inServer := r.firstWins(c, crowd)
			put(c == ours, &redis, inRedis)
			put(c == ours, &both, inRedis+inServer)
		}
	}
	r.add(redis, both)
}

// firstWins is the turn of one contestant: µs of a win in Redis and in the server.
func (r *run) firstWins(c *contestant, members int) (inRedis, inServer float64) {
	campaign := c.open(packets)
	crowd, leave := r.gather(c, campaign, members)
	defer leave()
	duration, fall, drops := dense()
	c.rain(campaign, falling(duration, drops, fall))
	r.play(crowd, bench.Plan{Duration: warmUp, Watch: true}) // until there are drops to tap
	before := r.back.redisSeconds(r.scope)
	// In so short a time each player taps once, and the answers are waited for.
	report, used := r.play(crowd, bench.Plan{Duration: time.Millisecond, Drain: time.Minute}, c.process)
	inRedis = (r.back.redisSeconds(r.scope) - before) * 1e6 / float64(report.Answered)
	r.won(c, report)
	inServer = used.micros(report.Answered, ofServer)
	r.Logf("  %-9s %d first wins, %.2f µs each in Redis and %.2f in the server", c.name, report.Answered, inRedis,
		inServer)
	return inRedis, inServer
}

// redisSeconds is the processor time that Redis has used, by its own account: the kernel's in /proc counts in
// hundredths of a second.
func (b *backends) redisSeconds(s *scope) (sum float64) {
	info, err := b.redis.InfoMap(s.ctx, "cpu").Result()
	s.check("ask redis about itself", err)
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := strconv.ParseFloat(info["CPU"][name], 64)
		s.check("read "+name+" of redis", err)
		sum += seconds
	}
	return sum
}
