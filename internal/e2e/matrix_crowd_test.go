package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/rain"
)

// crowd is a number of players who tap through every fault, as a good client does. A player who loses the connection
// comes back on any living node. A tap without an answer, or with "unavailable", is sent again until it is decided.
type crowd struct {
	t        *testing.T
	arena    *arena
	campaign string
	fans     []*fan
	stopping chan struct{}
	wg       sync.WaitGroup

	reported    atomic.Int64 // distinct wins that were reported
	unavailable atomic.Int64 // taps answered so
	lost        atomic.Int64 // connections
	inFlight    atomic.Int64 // taps that are not answered
	replayed    atomic.Int64 // wins reported again, the same, at the end
}

// fan is one of them.
type fan struct {
	*crowd

	user, token string
	home        int // the node where they begin

	conns   []*player // all they had
	live    *player   // the last of them; nil after it was lost
	used    map[string]bool
	pending string                 // the drop whose tap is not decided
	claims  map[string]wire.Result // the wins, by claim
	last    *wire.Result           // the newest of it
}

const (
	fanPause  = 40 * time.Millisecond // between two taps of a player
	fanAnswer = 20 * time.Second      // within which a tap must be answered
	fanAfter  = time.Minute           // the time in which everything is decided after disperse
)

// gather lets count players into a campaign, half of them on each node, and they begin to tap.
func gather(t *testing.T, a *arena, campaign string, count int) *crowd {
	t.Helper()
	c := &crowd{t: t, arena: a, campaign: campaign, stopping: make(chan struct{})}
	for i := range count {
		user := fmt.Sprintf("%s-%02d", campaign[len(campaign)-6:], i)
		c.fans = append(c.fans, &fan{crowd: c, user: user, token: token(t, user), home: i % 2, used: map[string]bool{},
			claims: map[string]wire.Result{}})
	}
	for _, f := range c.fans {
		c.wg.Go(f.play)
	}
	t.Cleanup(c.disperse)
	return c
}

// disperse stops all players and waits until each tap is decided. It can be called again.
func (c *crowd) disperse() {
	select {
	case <-c.stopping:
	default:
		close(c.stopping)
	}
	c.wg.Wait()
}

func (c *crowd) stopped() bool {
	select {
	case <-c.stopping:
		return true
	default:
		return false
	}
}

// awaitReported waits until so many more wins are reported than now.
func (c *crowd) awaitReported(more int64) { c.awaitMore("wins reported", &c.reported, more) }

// awaitUnavailable waits until so many more taps are answered so.
func (c *crowd) awaitUnavailable(more int64) {
	c.awaitMore("taps answered by unavailable", &c.unavailable, more)
}

func (c *crowd) awaitMore(what string, count *atomic.Int64, more int64) {
	c.t.Helper()
	goal := count.Load() + more
	testenv.Eventually(c.t, time.Minute, fmt.Sprintf("%d more %s", more, what),
		func() bool { return count.Load() >= goal })
}

// wins are all reported wins of the crowd, by claim, with the player. The crowd has dispersed.
func (c *crowd) wins(t *testing.T) map[string]toldWin {
	t.Helper()
	wins := map[string]toldWin{}
	for _, f := range c.fans {
		for claim, w := range f.claims {
			if other, reported := wins[claim]; reported {
				t.Errorf("claim %s was reported to %s and to %s", claim, other.user, f.user)
			}
			wins[claim] = toldWin{f.user, w.Amount}
		}
	}
	return wins
}

type toldWin struct {
	user   string
	amount rain.Money
}

// play is a player's evening.
func (f *fan) play() {
	defer f.leave()
	var deadline time.Time
	for {
		if f.stopped() {
			if deadline.IsZero() {
				deadline = time.Now().Add(fanAfter)
			}
			if f.pending == "" && f.repeatLast() || time.Now().After(deadline) {
				break
			}
		}
		f.pause()
		p := f.connection()
		if p == nil {
			continue
		}
		if f.pending == "" {
			if f.stopped() {
				continue
			}
			f.pending = p.next(func(id rain.DropID) bool { return f.used[id.String()] })
			f.used[f.pending] = true
		}
		if f.pending != "" {
			f.tapPending(p)
		}
	}
	if f.pending != "" {
		f.t.Errorf("%s: nobody decides the tap on %s", f.user, f.pending)
	}
}

// tapPending sends the pending tap, and keeps it pending unless it is decided.
func (f *fan) tapPending(p *player) {
	r, err := f.ask(p, f.pending)
	switch {
	case err != nil:
		return
	case r.Outcome == "unavailable":
		f.unavailable.Add(1)
		return
	case r.Outcome == "won":
		f.won(r)
	}
	f.pending = ""
}

// won remembers a win. A win that is reported again is the same.
func (f *fan) won(r wire.Result) {
	r.ID = ""
	was, again := f.claims[r.Claim]
	if again && was != r {
		f.t.Errorf("%s received %+v, and then %+v", f.user, was, r)
	}
	if !again {
		f.claims[r.Claim], f.last = r, &r
		f.reported.Add(1)
	}
}

// repeatLast sends the last win's tap again, and compares the answers. It reports whether that is done.
func (f *fan) repeatLast() bool {
	p := f.connection()
	if p == nil || f.last == nil {
		return f.last == nil
	}
	again, err := f.ask(p, f.last.Drop)
	again.ID = ""
	switch {
	case err != nil || again.Outcome == "unavailable":
		return false
	case again.Outcome != "won": // it has landed, or the rain is over
	case again != *f.last:
		f.t.Errorf("%s received %+v, and then %+v", f.user, *f.last, again)
	default:
		f.replayed.Add(1)
	}
	return true
}

var errUnanswered = errors.New("no answer")

// ask sends a tap and waits for its result.
func (f *fan) ask(p *player, drop string) (wire.Result, error) {
	f.inFlight.Add(1)
	defer f.inFlight.Add(-1)
	id := p.tap(drop)
	limit := time.NewTimer(fanAnswer)
	defer limit.Stop()
	for {
		p.mu.Lock()
		results, news := p.results[id], p.news
		p.mu.Unlock()
		if len(results) > 0 {
			return results[0], nil
		}
		select {
		case <-news:
		case <-p.done:
			return wire.Result{}, errUnanswered
		case <-limit.C:
			f.t.Errorf("%s: the tap on %s is not answered within %s on a connection that lives", f.user, drop,
				fanAnswer)
			return wire.Result{}, errUnanswered
		}
	}
}

// connection is the living connection, or a new one: at home if that node is there, else at the other node; nil without
// a node.
func (f *fan) connection() *player {
	if f.live != nil {
		select {
		case <-f.live.done:
			f.lost.Add(1)
			f.live = nil
		default:
			return f.live
		}
	}
	for i := range 2 {
		if p := f.join(f.arena.node((f.home + i) % 2).node); p != nil {
			f.conns, f.live = append(f.conns, p), p
			return p
		}
	}
	return nil
}

// join says hello at a node; nil if that fails.
func (f *fan) join(n *node) *player {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	p, err := enter(f.arena.t, ctx, n, f.user, f.token, f.campaign)
	if err != nil {
		return nil
	}
	return p
}

func (f *fan) pause() {
	timer := time.NewTimer(fanPause)
	defer timer.Stop()
	<-timer.C
}

// leave hangs up, and holds the connections to the rule of one answer for each tap.
func (f *fan) leave() {
	for _, p := range f.conns {
		p.hangUp()
		p.mu.Lock()
		for id, drop := range p.tapped {
			if len(p.results[id]) > 1 {
				f.t.Errorf("%s: the tap %s on %s has %d results", f.user, id, drop, len(p.results[id]))
			}
		}
		p.mu.Unlock()
	}
}
