package bench

import (
	"sync"
	"time"

	"redrain/rain"
)

// loop is a part of the crowd on one goroutine: no lock is taken for a tap.
type loop struct {
	options *Options
	clock   func() int64 // the time since the crowd began, in ns
	door    door
	poller  poller
	players []*player
	views   map[string]*view
	clocks  []offset // by target

	inbox struct {
		sync.Mutex
		calls []func()
		ended bool
	}

	alarms  alarms
	tapping bool
	plan    Plan
	pace    pace
	tally   *tally
	told    wins
	out     []byte // what is being written
	now     int64  // ns; as of the last look at the clock
}

// door is where players come in. A Crowd is one.
type door interface {
	// arrive notes that a player has joined, or never will.
	arrive(p *player, err error)
	// connectLater has a player connect after a pause; why is what it had to leave for.
	connectLater(p *player, d time.Duration, why error)
	// turnAway has a player wait for a seat, who has this place (0: none) and is to come back after a pause.
	turnAway(p *player, place int, d time.Duration, why error)
	// leaveLater has a player go for good after some time.
	leaveLater(p *player, d time.Duration)
}

// offset is what is known of a server's clock.
type offset struct {
	ns  int64 // the server's time less ours
	rtt int64 // of the sample, which bounds its error; 0: there is none
}

// sample takes a look at the server's clock in, if it is better than what there is.
func (o *offset) sample(sent, received, serverMS int64) {
	rtt := max(received-sent, 1)
	if o.rtt == 0 || rtt <= o.rtt {
		half := int64(time.Millisecond) / 2 // the server's time is cut to whole milliseconds
		*o = offset{ns: serverMS*int64(time.Millisecond) + half - (sent+received)/2, rtt: rtt}
	}
}

// server is a moment on the clock of a player's server, in ms.
func (l *loop) server(p *player, ns int64) int64 {
	return (ns + l.clocks[p.target].ns) / int64(time.Millisecond)
}

// do has the loop call f. It reports false, and f is never called, when the loop has ended.
func (l *loop) do(f func()) bool {
	l.inbox.Lock()
	defer l.inbox.Unlock()
	if l.inbox.ended {
		return false
	}
	l.inbox.calls = append(l.inbox.calls, f)
	if len(l.inbox.calls) == 1 {
		l.poller.wake()
	}
	return true
}

// call is do, and waits until it is done. A loop that has ended does nothing.
func (l *loop) call(f func()) {
	done := make(chan struct{})
	if l.do(func() { f(); close(done) }) {
		<-done
	}
}

// end makes run return after it.
func (l *loop) end() {
	l.inbox.Lock()
	defer l.inbox.Unlock()
	l.inbox.ended = true
}

// calls does what others have asked for, and tells whether that was the end.
func (l *loop) calls() (ended bool) {
	l.inbox.Lock()
	calls := l.inbox.calls
	l.inbox.calls = nil
	l.inbox.Unlock()
	for _, f := range calls {
		f()
	}
	l.inbox.Lock()
	defer l.inbox.Unlock()
	return l.inbox.ended && len(l.inbox.calls) == 0
}

func (l *loop) alarm(p *player, at int64) {
	if p.alarmed {
		return
	}
	p.alarmed = true
	l.alarms.push(alarm{at, p})
}

// present begins to expect waves for a player, if there is a rain to come or falling.
func (l *loop) present(p *player) {
	if s := p.view; s.tells != nil && (s.phase == rain.PhaseCountdown || s.phase == rain.PhaseFalling) {
		p.presence.begin(s.tells, l.server(p, l.now), &p.seen)
	}
}

// absent ends that.
func (l *loop) absent(p *player) {
	expected, received := p.presence.end(l.server(p, l.now), &p.seen)
	l.tally.expected += expected
	l.tally.received += received
}
