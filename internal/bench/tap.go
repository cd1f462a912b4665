package bench

import (
	"math/rand/v2"
	"time"
)

// start lets the loop's players tap. The loops' rates add up to the plan's.
func (l *loop) start(plan Plan, begin int64) {
	l.plan, l.tapping = plan, !plan.Watch
	l.tally = l.tally.renew()
	for _, p := range l.players {
		if p.presence.shower != nil {
			p.presence.end(l.server(p, l.now), &p.seen)
		}
		if p.joined && p.view.tells != nil && !p.stalled {
			l.present(p)
		}
		p.starvedSince = 0
		if plan.Hand != nil {
			p.reaction, p.restsUntil = plan.Hand.Reaction().Milliseconds(), 0
		}
	}
	switch {
	case plan.Watch:
	case plan.Rate > 0:
		l.pace = newPace(plan.Rate, len(l.players), l.options.Players, begin)
	default:
		for _, p := range l.players {
			if p.joined {
				l.think(p)
			}
		}
	}
	for _, p := range l.players {
		if p.joined {
			l.stay(p)
		}
	}
}

// stop ends the tapping; what is under way may still be answered.
func (l *loop) stop() {
	l.tapping = false
	l.plan.Stay = 0
	l.pace = pace{}
	for _, p := range l.players {
		l.tally.starved(p, l.now)
		l.absent(p)
	}
}

// think lets a player of a closed loop pause before its next tap. The first pause is at random, or all would tap in
// one moment.
func (l *loop) think(p *player) {
	if l.plan.Think == 0 || l.plan.Hand != nil {
		l.tapClosed(p)
		return
	}
	think := int64(l.plan.Think)
	if p.tapID == 0 {
		think = rand.Int64N(think) //nolint:gosec // not a secret
	}
	l.alarm(p, l.now+think)
}

// tapClosed lets a player of a closed loop tap, or notes what it waits for.
func (l *loop) tapClosed(p *player) {
	if l.plan.Hand != nil {
		l.tapByHand(p)
		return
	}
	if !l.tapping || l.plan.Rate > 0 || !p.joined || p.stalled || len(p.pending) > 0 {
		return
	}
	w, k, from := p.tappable(l.server(p, l.now))
	if w != nil {
		l.tally.starved(p, l.now)
		l.send(p, w, k, l.now)
		return
	}
	if p.starvedSince == 0 {
		p.starvedSince = l.now
	}
	if from > 0 {
		wait := (from - l.server(p, l.now)) * int64(time.Millisecond)
		l.alarm(p, l.now+wait)
	}
}

// inARow is how many late taps are sent before the loop looks at its sockets again.
const inARow = 64

// keepPace sends what is due in an open loop, each tap by the next player who can, and tells when the next one is.
func (l *loop) keepPace() int64 {
	c := &l.pace
	if c.every == 0 || !l.tapping {
		return never
	}
	for range inARow {
		at := c.due()
		if at > l.now {
			return at
		}
		c.count++
		l.tapOpen(at)
		l.now = l.clock()
	}
	return l.now
}

// tries is how many players are asked for a tap before it is given up: with nothing in the air that is true of all.
const tries = 16

// tapOpen lets the next player who can tap.
func (l *loop) tapOpen(at int64) {
	connected := false
	for range min(tries, len(l.players)) {
		p := l.players[l.pace.turn]
		l.pace.turn = (l.pace.turn + 1) % len(l.players)
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

// send sends a tap whose time counts from at.
func (l *loop) send(p *player, w *wave, k int32, at int64) {
	p.tapID++
	t := tap{id: p.tapID, at: at, n: w.n, k: k}
	l.out = t.appendTo(l.out[:0])
	l.tally.taps++
	p.pending = append(p.pending, t)
	if err := p.sock.write(l.out); err != nil {
		l.gone(p, err)
	}
}
