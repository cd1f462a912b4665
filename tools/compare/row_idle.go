//go:build linux

package main

import (
	"time"
)

// measureIdle starts each contestant anew for each crowd, because a process keeps some memory of its connections after
// they have gone.
func measureIdle(r *run) {
	for _, n := range []int{5000, 15_000} {
		kb := line{What: "memory of an idle joined connection, " + thousands(n) + " of them, KB", Than: "bare loop",
			Plain: true, Goal: atMost(10)}
		goroutines := line{What: "– goroutines", Than: "bare loop", Plain: true, Goal: atMost(1.01)}
		textbook := line{What: "– KB beside the baseline", Than: "baseline"}
		for _, c := range []struct {
			start func(*scope) *contestant
			kb    func(float64)
			count func(float64)
		}{
			{r.gatewayAlone, func(f float64) { kb.Ours, textbook.Ours = []float64{f}, []float64{f} },
				func(f float64) { goroutines.Ours = []float64{f} }},
			{startBare, func(f float64) { kb.Other = []float64{f} },
				func(f float64) { goroutines.Other = []float64{f} }},
			{func(s *scope) *contestant { return startBaseline(s, r.back) },
				func(f float64) { textbook.Other = []float64{f} }, func(float64) {}},
		} {
			err := do(r.ctx, r.log, func(s *scope) {
				memory, goroutines := r.within(s, r.row).idle(c.start(s), n)
				c.kb(memory)
				c.count(goroutines)
			})
			r.check("idle connections", err)
		}
		r.add(kb, goroutines, textbook)
	}
}

func (r *run) gatewayAlone(s *scope) *contestant {
	return startRedrain(s, r.back.flags(s, newDatabase(s), gateway)...)
}

// idle measures what each of n connections adds to the process: KB of memory in RAM, and goroutines.
func (r *run) idle(c *contestant, n int) (kb, goroutines float64) {
	campaign := c.open(1000)
	// The first few make the process allocate what it needs once.
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

// calm waits until the memory of the process has stopped changing, and returns it in bytes. What joining needed for a
// moment has been returned to the system by then.
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
