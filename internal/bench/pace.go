package bench

import "time"

// pace is an open loop's timetable: taps at even distances, whether or not the server keeps up with them. The zero
// pace has none.
type pace struct {
	every float64 // ns between two taps of this loop; 0: no taps
	start int64   // ns
	count int64   // of taps that were due
	turn  int     // the player whose turn it is
}

// newPace is the timetable of a loop that has some of all players.
func newPace(rate float64, players, all int, start int64) pace {
	return pace{every: float64(time.Second) * float64(all) / (rate * float64(players)), start: start}
}

// due is when the next tap is to be sent.
func (c *pace) due() int64 { return c.start + int64(c.every*float64(c.count)) }

// inARow is how many late taps are sent before the loop looks at its sockets again.
const inARow = 64

// fire sends what is due, each tap by the next player who can, and tells when the next one is.
func (c *pace) fire(l *loop) int64 {
	if c.every == 0 || !l.tapping {
		return never
	}
	for range inARow {
		at := c.due()
		if at > l.now {
			return at
		}
		c.count++
		c.one(l, at)
		l.now = l.crowd.clock()
	}
	return l.now
}

// tries is how many players are asked for a tap before it is given up: with nothing in the air that is true of all.
const tries = 16

func (c *pace) one(l *loop, at int64) {
	connected := false
	for range min(tries, len(l.players)) {
		p := l.players[c.turn]
		c.turn = (c.turn + 1) % len(l.players)
		if !p.joined || p.stalled {
			continue
		}
		connected = true
		if w, k, _ := p.tappable(l.server(p, l.now)); w != nil {
			l.send(p, w, k, at)
			return
		}
	}
	if connected {
		l.tally.nothing++
	} else {
		l.tally.nobody++
	}
}
