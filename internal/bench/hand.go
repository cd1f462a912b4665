package bench

import (
	"slices"
	"time"
)

// Hand is how somebody taps who is no load: a person, who needs time to see a drop and taps the newest, or a program.
// The funcs are called by several goroutines at a time.
type Hand struct {
	Reaction func() time.Duration // from a drop's opening to the tap, at least; another one for each tap
	Pause    func() time.Duration // between two taps, at least
}

// tapByHand lets a player with hands tap, or wait for the moment to do so. It may be called at any time.
func (l *loop) tapByHand(p *player) {
	if !l.tapping || !p.joined || p.stalled {
		return
	}
	if l.now < p.restsUntil {
		l.alarm(p, p.restsUntil)
		return
	}
	now := l.server(p, l.now)
	w, k, from := p.ripe(now, p.reaction)
	switch {
	case w != nil:
		l.send(p, w, k, l.now)
		p.reaction = l.plan.Hand.Reaction().Milliseconds()
		p.restsUntil = l.now + int64(l.plan.Hand.Pause())
		l.alarm(p, p.restsUntil)
	case from > 0:
		l.alarm(p, l.now+(from-now)*int64(time.Millisecond))
	}
}

// ripe finds the newest drop that has been in the air for a time in ms and was not tapped. Without one it tells when
// the next will be, as far as a wave is known; 0: none is.
func (p *player) ripe(now, reaction int64) (w *wave, k int32, from int64) {
	for len(p.queue) > 0 && now >= p.queue[0].gone {
		delete(p.touched, p.queue[0])
		p.queue = p.queue[1:]
	}
	if p.touched == nil {
		p.touched = map[*wave]int{}
	}
	for _, w := range slices.Backward(p.queue) {
		if opens := w.at + max(reaction, early); now < opens {
			from = opens // the last one found is the first to come
			continue
		}
		for p.touched[w] < len(w.drops) {
			d := w.drops[p.touched[w]]
			p.touched[w]++
			if now < w.at+int64(d.fall) {
				return w, d.k, 0
			}
		}
	}
	return nil, 0, from
}
