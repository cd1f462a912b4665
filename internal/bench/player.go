package bench

import (
	"sync"
	"time"

	"redrain/internal/wire"
	"redrain/rain"
)

// socket is the part of a client.Socket that a player uses while it plays.
type socket interface {
	Tap(id int64, drop string) error
	Ping(id, t int64) error
	Leave() error
	Close() error
}

// player is one simulated player. The goroutine of live owns its connection.
type player struct {
	crowd    *Crowd
	id       int
	campaign string
	view     *view

	// used by the goroutine of live only
	token    string // requested at the first connection
	isNew    bool   // has not joined yet, and may still do so
	backMS   int64  // the server's pause before a reconnect, ms; 0: none
	position int    // the queue position that came with it; 0: none

	mu     sync.Mutex // guards all below
	target int
	sock   socket // nil: not connected
	saidAt time.Time
	cameAt int64 // time of joining the room, ms of the server
	joined bool
	left   bool  // for good
	plan   *Plan // nil: no taps

	shower   *shower // the last announced rain; nil: none
	presence presence
	seen     waveSet

	queue        []*wave // received waves with untapped drops, in rising order
	touched      map[*wave]int
	tapID        int64
	pending      map[int64]tap
	starvedSince time.Time   // closed loop: start of the time without drops to tap; zero: it has some
	wake         *time.Timer // triggers the next tap
	asleep       bool        // wake is set
	reaction     int64       // with hands: to the next drop, ms
	restsUntil   time.Time   // with hands
}

// tap is a tap without a result yet.
type tap struct {
	at   time.Time // start of its time
	drop string
}

func (p *player) clock() *serverClock { return &p.crowd.clocks[p.target] }

// serverMS converts a moment to the clock of the player's server.
func (p *player) serverMS(at time.Time) int64 { return p.clock().serverMS(at) }

func (p *player) connect(s socket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sock, p.saidAt = s, time.Now()
}

// state reports whether the player is in the room, and whether the player has left for good.
func (p *player) state() (joined, left bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.joined, p.left
}

// isRainedOn reports whether drops appear for the player now, or have just done so.
func (p *player) isRainedOn() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, now := p.shower, p.serverMS(time.Now())
	return p.joined && s != nil && now >= s.rain.StartsAt && now < s.ends.Load()
}

// hangUp drops the connection, and counts its unanswered taps as lost. It reports whether the player has left for good.
func (p *player) hangUp() (left bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endStarving()
	p.see(nil, nil)
	lost, joined := int64(len(p.pending)), p.joined
	p.crowd.tally.count(func(t *counts) {
		t.Lost += lost
		t.pending -= lost
		if joined {
			t.connected--
		}
	})
	clear(p.pending)
	p.sock, p.joined = nil, false
	return p.left
}

// see starts to expect the waves of an announced or falling rain, and stops expecting those of another one.
func (p *player) see(s *shower, m *wire.Rain) {
	now := p.serverMS(time.Now())
	if m != nil && m.Phase != rain.PhaseCountdown && m.Phase != rain.PhaseFalling {
		s = nil
	}
	if p.presence.shower != nil && p.shower == s && s != nil {
		return // no change
	}
	p.closePresence(now)
	p.shower = s
	p.presence = presence{s, now}
}

func (p *player) closePresence(now int64) {
	expected, received := p.presence.end(now, &p.seen)
	p.crowd.tally.count(func(t *counts) {
		t.Waves.Expected += expected
		t.Waves.Received += received
	})
}

// start lets the player tap as planned.
func (p *player) start(plan *Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.presence = presence{p.shower, p.serverMS(time.Now())}
	p.plan, p.starvedSince = plan, time.Time{}
	if plan.Hand != nil {
		p.reaction, p.restsUntil = plan.Hand.Reaction().Milliseconds(), time.Time{}
	}
	if p.joined {
		p.stay()
		p.tapAgain()
	}
}

// stop ends the tapping.
func (p *player) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan = nil
	p.endStarving()
	p.closePresence(p.serverMS(time.Now()))
}

// stay makes the player leave for good after Plan.Stay, if that is set.
func (p *player) stay() {
	plan := p.plan
	if plan.Stay == 0 {
		return
	}
	time.AfterFunc(plan.Stay, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.joined || p.plan != plan || p.left {
			return // it reconnects to its slot; or the play is over
		}
		p.closePresence(p.serverMS(time.Now()))
		p.left = true
		p.crowd.tally.count(func(t *counts) { t.Left++ })
		if err := p.sock.Leave(); err != nil {
			_ = p.sock.Close()
		}
	})
}
