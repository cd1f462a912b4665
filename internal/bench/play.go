package bench

import (
	"context"
	"time"
)

// Play lets the players tap, waits for what is still to be answered, and reports. ctx ends the tapping early.
func (c *Crowd) Play(ctx context.Context, plan Plan) (*Report, error) {
	plan, err := plan.withDefaults()
	if err != nil {
		return nil, err
	}
	processor := processorTime()
	begin := c.clock()
	for i, l := range c.loops {
		offset := int64(0)
		if plan.Rate > 0 { // the loops' timetables between each other
			offset = int64(float64(time.Second) / plan.Rate * float64(i))
		}
		l.do(func() { l.start(plan, begin+offset) })
	}
	pause(ctx, plan.Duration)
	for _, l := range c.loops {
		l.call(l.stop)
	}
	took := time.Duration(c.clock() - begin)
	used := processorTime() - processor
	c.drain(plan.Drain)
	return c.report(begin, took, used), nil
}

// drain waits until every tap is answered, or the time is up. It does so after an early end as well: what the
// server has been sent is still being decided, and may be won.
func (c *Crowd) drain(limit time.Duration) {
	const look = 10 * time.Millisecond
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); {
		if c.pending() == 0 || !pause(c.ctx, look) {
			return
		}
	}
}

// pending is how many taps wait for an answer.
func (c *Crowd) pending() int64 {
	sum := int64(0)
	for _, l := range c.loops {
		l.call(func() {
			for _, p := range l.players {
				sum += int64(len(p.pending))
			}
		})
	}
	return sum
}

// Progress is where things stand. Its counts are since Play began.
type Progress struct {
	Joined     int   // players who have ever joined
	Connected  int   // players who are in a room now
	Taps       int64 // sent
	Answered   int64
	Won        int64
	Settled    int64 // claims that players were told to be money
	Pending    int64 // taps that wait for their results
	Reconnects int64
	Faults     int64 // of the protocol
}

// Progress tells where things stand. It may be called while Play runs.
func (c *Crowd) Progress() Progress {
	var g Progress
	for _, l := range c.loops {
		l.call(func() {
			t := l.tally
			g.Taps += t.taps
			g.Answered += t.answered
			g.Won += t.outcomes[0] // won
			g.Settled += t.settled
			g.Reconnects += t.reconnects
			for _, n := range t.faults {
				g.Faults += n
			}
			for _, p := range l.players {
				g.Pending += int64(len(p.pending))
				if p.joined {
					g.Connected++
				}
			}
		})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	g.Joined = c.joined
	return g
}
