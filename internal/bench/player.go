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

	// Of the goroutine of live.
	token    string // asked for when it connects first
	isNew    bool   // has never joined, and may still do so
	backMS   int64  // the server has asked to come back after so long; 0: it has not
	position int    // in the waiting room, that it told with that; 0: none

	mu     sync.Mutex // guards all below
	target int
	sock   socket // nil: not connected
	saidAt time.Time
	cameAt int64 // when the player came into the room, ms of the server
	joined bool
	left   bool  // for good
	plan   *Plan // nil: nobody taps

	shower   *shower // the rain that the player was told of; nil: none
	presence presence
	seen     waveSet

	queue        []*wave // received, and not tapped to the end; in rising order
	touched      map[*wave]int
	tapID        int64
	pending      map[int64]tap
	starvedSince time.Time   // closed loop: since when it has nothing to tap; zero: it has
	wake         *time.Timer // taps again
	asleep       bool        // wake is set
	reaction     int64       // with hands: to the next drop, ms
	restsUntil   time.Time   // with hands
}

// tap is one whose result has not come.
type tap struct {
	at   time.Time // from when its time counts
	drop string
}

func (p *player) clock() *serverClock { return &p.crowd.clocks[p.target] }

// serverMS is a moment on the clock of the player's server.
func (p *player) serverMS(at time.Time) int64 { return p.clock().serverMS(at) }

func (p *player) connect(s socket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sock, p.saidAt = s, time.Now()
}

func (p *player) isJoined() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.joined
}

func (p *player) hasLeft() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left
}

// isRainedOn tells whether drops appear for the player now, or have just done so.
func (p *player) isRainedOn() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, now := p.shower, p.serverMS(time.Now())
	return p.joined && s != nil && now >= s.rain.StartsAt && now < s.endsAt()
}

// hangUp forgets the connection. Taps that were not answered never will be. It reports whether the player has gone for
// good.
func (p *player) hangUp() (left bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endStarving()
	p.see(nil, nil)
	lost, joined := int64(len(p.pending)), p.joined
	p.crowd.tally.count(func(t *counts) {
		t.lost += lost
		t.pending -= lost
		if joined {
			t.connected--
		}
	})
	clear(p.pending)
	p.sock, p.joined = nil, false
	return p.left
}

// see begins to expect the waves of a rain that is announced or falls, and stops expecting those of another one.
func (p *player) see(s *shower, m *wire.Rain) {
	now := p.serverMS(time.Now())
	if m != nil && m.Phase != rain.PhaseCountdown && m.Phase != rain.PhaseFalling {
		s = nil
	}
	if p.presence.isOpen() && p.shower == s && s != nil {
		return // it goes on as it was
	}
	p.closePresence(now)
	p.shower = s
	p.presence.begin(s, now)
}

func (p *player) closePresence(now int64) {
	expected, received := p.presence.end(now, &p.seen)
	p.crowd.tally.count(func(t *counts) {
		t.expected += expected
		t.received += received
	})
}

// start lets the player tap as planned.
func (p *player) start(plan *Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.presence.begin(p.shower, p.serverMS(time.Now()))
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

// stay has the player go for good after a while, if the plan says so.
func (p *player) stay() {
	plan := p.plan
	if plan.Stay == 0 {
		return
	}
	time.AfterFunc(plan.Stay, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.joined || p.plan != plan || p.left {
			return // it comes back, and has a slot for that; or the play is over
		}
		p.closePresence(p.serverMS(time.Now()))
		p.presence.begin(nil, 0)
		p.left = true
		p.crowd.tally.count(func(t *counts) { t.left++ })
		if err := p.sock.Leave(); err != nil {
			_ = p.sock.Close()
		}
	})
}
