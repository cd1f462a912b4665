package bench

import (
	"fmt"
	"sync"
	"time"
)

// loop is a part of the crowd on one goroutine: no lock is taken for a tap.
type loop struct {
	crowd   *crowdState
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

// run is the loop, until ended is called in it.
func (l *loop) run() error {
	for {
		l.now = l.crowd.clock()
		if l.calls() {
			return l.poller.close()
		}
		l.wakeUp()
		next := l.pace.fire(l)
		if len(l.alarms) > 0 {
			next = min(next, l.alarms[0].at)
		}
		if err := l.poller.wait(l.now, next, l.heard); err != nil {
			l.end()
			l.calls()
			return fmt.Errorf("a loop of players has broken down: %w", err)
		}
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

// wakeUp lets those tap whose time has come.
func (l *loop) wakeUp() {
	for len(l.alarms) > 0 && l.alarms[0].at <= l.now {
		p := l.alarms.pop().p
		p.alarmed = false
		l.tapClosed(p)
	}
}

func (l *loop) alarm(p *player, at int64) {
	if p.alarmed {
		return
	}
	p.alarmed = true
	l.alarms.push(alarm{at, p})
}
