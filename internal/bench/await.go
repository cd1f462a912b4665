package bench

import (
	"context"
	"time"

	"redrain/rain"
)

// AwaitRain waits until it rains on some of the players, and tells whether it does; not, when ctx has ended before.
func (c *Crowd) AwaitRain(ctx context.Context) bool {
	const look = 10 * time.Millisecond
	for {
		if c.raining() {
			return true
		}
		if !pause(ctx, look) {
			return false
		}
	}
}

func (c *Crowd) raining() bool {
	falls := false
	for _, l := range c.loops {
		l.call(func() {
			for _, p := range l.players {
				if s := p.view.tells; p.joined && s != nil && s.falls(p.view.phase, l.server(p, c.clock())) {
					falls = true
					return
				}
			}
		})
	}
	return falls
}

// falls tells whether drops appear at a time of the server, or have just done so.
func (w *shower) falls(phase rain.Phase, now int64) bool {
	return (phase == rain.PhaseFalling || phase == rain.PhaseCountdown) && now >= w.rain.StartsAt && now < w.ended
}
