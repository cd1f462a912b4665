//go:build linux

package main

import (
	"time"
)

// measureIdle starts each contestant anew for each crowd, because a process keeps some memory of its connections after
// they have gone.
func measureIdle(r *run) {
	for _, n := range []int{5000, 15_000} {
		kb := line{What: "memory of an idle joined connection, " + thousands(n) + " of them, KB", Than: "baseline",
			Plain: true, Goal: atMost(10)}
		goroutines := line{What: "– goroutines", Than: "baseline", Plain: true, Goal: atMost(1.01)}
		for _, ours := range []bool{true, false} {
			err := do(r.ctx, r.log, func(s *scope) {
				r := r.within(s, r.row)
				start := r.gatewayAlone
				if !ours {
					start = func(s *scope) *contestant { return startBaseline(s, r.back) }
				}
				memory, count := r.idle(start(s), n)
				put(ours, &kb, memory)
				put(ours, &goroutines, count)
			})
			r.check("idle connections", err)
		}
		r.add(kb, goroutines)
	}
}

func (r *run) gatewayAlone(s *scope) *contestant {
	return startRedrain(s, r.back, r.back.flags(s, newDatabase(s), gateway)...)
}

// idle measures what each of n connections adds to the process: KB of memory in RAM, and goroutines.
func (r *run) idle(c *contestant, n int) (kb, goroutines float64) {
	campaign := c.open(1000)
	// The first few make the process allocate its fixed memory.
	_, leave := r.gather(c, campaign, 10)
	leave()
	before, had := r.calm(c), c.metric(r.scope, "go_goroutines")
	_, leave = r.gather(c, campaign, n)
	defer leave()
	after, has := r.calm(c), c.metric(r.scope, "go_goroutines")
	each := func(metric string) float64 { return c.metric(r.scope, metric) / 1024 / float64(n) }
	kb, goroutines = (after-before)/1024/float64(n), (has-had)/float64(n)
	r.Logf("  %-9s %d connections: from %.1f to %.1f MB, %.2f KB and %.3f goroutines each; all in all %.2f KB of "+
		"stacks, %.2f of heap in use, %.2f released or free", c.name, n, before/1024/1024, after/1024/1024, kb,
		goroutines,
		each("go_memstats_stack_inuse_bytes"), each("go_memstats_heap_inuse_bytes"),
		each("go_memstats_heap_idle_bytes"))
	return kb, goroutines
}

// calm waits until the memory of the process has stopped changing, and returns it in bytes. The memory that
// joining needed has been returned to the system by then.
func (r *run) calm(c *contestant) float64 {
	const (
		look   = time.Second
		same   = 5 // looks
		within = 45
		nearly = 1.005
	)
	var last float64
	for looks, quiet := 0, 0; looks < within && quiet < same; looks++ {
		rss, err := c.rss()
		r.check("memory", err)
		if now := float64(rss); now < last*nearly && last < now*nearly {
			quiet++
		} else {
			last, quiet = now, 0
		}
		r.wait(look)
	}
	rss, err := c.rss()
	r.check("memory", err)
	return float64(rss)
}
