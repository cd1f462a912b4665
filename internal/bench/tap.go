package bench

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// tapAgain lets a player of a closed loop think, and tap. The first pause is random, so that not all tap at once.
func (p *player) tapAgain() {
	if p.plan == nil || !p.plan.closed() {
		return
	}
	think := p.plan.Think
	if think == 0 || p.plan.Hand != nil {
		p.tap()
		return
	}
	if p.tapID == 0 {
		think = rand.N(think) //nolint:gosec // not a secret
	}
	p.sleep(think)
}

// sleep calls tap after a time. If the player sleeps already, it does nothing.
func (p *player) sleep(d time.Duration) {
	if p.asleep {
		return
	}
	p.asleep = true
	if p.wake != nil {
		p.wake.Reset(d)
		return
	}
	p.wake = time.AfterFunc(d, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asleep = false
		p.tap()
	})
}

// tap taps the next drop in a closed loop, or waits for one.
func (p *player) tap() {
	if p.plan == nil || !p.plan.closed() || !p.joined || p.left {
		return
	}
	now := time.Now()
	if p.plan.Hand != nil {
		p.tapByHand(now)
		return
	}
	if len(p.pending) > 0 {
		return
	}
	w, k, from := p.nextDrop(p.serverMS(now))
	switch {
	case w != nil:
		p.endStarving()
		p.send(w, k, now)
		return
	case p.starvedSince.IsZero():
		p.starvedSince = now
	}
	if from > 0 {
		p.sleep(time.Duration(from-p.serverMS(now)) * time.Millisecond)
	}
}

// tapAt taps the next drop in an open loop. The tap's time counts from at.
func (p *player) tapAt(at time.Time) (sent, joined bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.joined || p.left {
		return false, false
	}
	w, k, _ := p.nextDrop(p.serverMS(time.Now()))
	if w == nil {
		return false, true
	}
	p.send(w, k, at)
	return true, true
}

// tapByHand taps the newest drop that the player can have seen by now, or waits for one.
func (p *player) tapByHand(now time.Time) {
	if now.Before(p.restsUntil) {
		p.sleep(p.restsUntil.Sub(now))
		return
	}
	ms := p.serverMS(now)
	w, k, from := p.newestDrop(ms, p.reaction)
	switch {
	case w != nil:
		p.send(w, k, now)
		p.reaction = p.plan.Hand.Reaction().Milliseconds()
		pause := p.plan.Hand.Pause()
		p.restsUntil = now.Add(pause)
		p.sleep(pause)
	case from > 0:
		p.sleep(time.Duration(from-ms) * time.Millisecond)
	}
}

// early is the least time after its moment at which a drop is tapped, in ms. It is the error of the server's clock.
const early = 5

// nextDrop finds the next drop that is in the air at a time of the server. Without one, from is the time of the next;
// 0: no wave is known.
func (p *player) nextDrop(now int64) (w *wave, k int, from int64) {
	for len(p.queue) > 0 {
		w := p.queue[0]
		if now < w.at+early {
			return nil, 0, w.at + early
		}
		if k, ok := p.dropOf(w, now); ok {
			return w, k, 0
		}
		p.forgetFirst()
	}
	p.queue = nil // so that append does not keep old waves alive
	return nil, 0, 0
}

// newestDrop finds the newest untapped drop that has been in the air for a time in ms. Without one, from is the time of
// the next; 0: no wave is known.
func (p *player) newestDrop(now, reaction int64) (w *wave, k int, from int64) {
	for len(p.queue) > 0 && now >= p.queue[0].landed {
		p.forgetFirst()
	}
	for _, w := range slices.Backward(p.queue) {
		if opens := w.at + max(reaction, early); now < opens {
			from = opens // the last one found comes first
			continue
		}
		if k, ok := p.dropOf(w, now); ok {
			return w, k, 0
		}
	}
	return nil, 0, from
}

// dropOf takes the next drop of a wave that is in the air.
func (p *player) dropOf(w *wave, now int64) (k int, ok bool) {
	for now < w.landed && p.touched[w] < len(w.drops) {
		d := w.drops[p.touched[w]]
		p.touched[w]++
		if now < w.at+int64(d.fallMS) {
			return d.k, true
		}
	}
	return 0, false
}

func (p *player) forgetFirst() {
	delete(p.touched, p.queue[0])
	p.queue = p.queue[1:]
}

// send taps a drop. The tap's time counts from at.
func (p *player) send(w *wave, k int, at time.Time) {
	p.tapID++
	drop := strconv.FormatInt(w.n, 10) + "." + strconv.Itoa(k)
	p.pending[p.tapID] = tap{at, drop}
	p.crowd.tally.count(func(t *counts) {
		t.Taps++
		t.pending++
	})
	if err := p.sock.Tap(p.tapID, drop); err != nil {
		_ = p.sock.Close() // session notices it
	}
}

// answered removes a tap from the list. ok is false for an unknown id.
func (p *player) answered(id string) (t tap, ok bool) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return tap{}, false
	}
	t, ok = p.pending[n]
	delete(p.pending, n)
	return t, ok
}

// endStarving ends a time in which the player had nothing to tap.
func (p *player) endStarving() {
	if p.starvedSince.IsZero() {
		return
	}
	starved := time.Since(p.starvedSince)
	p.starvedSince = time.Time{}
	p.crowd.tally.count(func(t *counts) {
		t.Starvations++
		t.Starved += starved
	})
}
