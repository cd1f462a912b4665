package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// dialers is how many connections are made at the same time. A server's accept queue holds 4,096 by Linux's
// default; more at a time would only wait longer.
const dialers = 64

// Crowd is the players who have joined, from Gather until Leave. One goroutine at a time calls its methods; Progress
// may be called at any time.
type Crowd struct {
	options Options
	clock   func() int64 // the time since the crowd began, in ns
	loops   []*loop
	dialing chan struct{}   // a token for each connection that is being made
	ctx     context.Context //nolint:containedctx // of the goroutines that connect players: from Gather to Leave
	stop    context.CancelFunc
	work    sync.WaitGroup // those goroutines, and the loops
	queue   queue

	mu      sync.Mutex
	news    chan struct{} // closed and replaced when a player has joined, or has been refused
	joined  int
	told    int            // players who were told to wait for a seat and have not come in yet
	failed  map[string]int // why players will not come, and how many
	lastErr error
	broken  error // of a loop
}

// Gather lets the players connect and join, and returns when all have, or when the time is up and at least one has; see
// Options.Knock.
// Report.Failed says what became of the others, of whom some may still come.
func Gather(ctx context.Context, o Options) (*Crowd, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	c := &Crowd{options: o, clock: func() int64 { return int64(time.Since(began)) },
		dialing: make(chan struct{}, dialers), news: make(chan struct{}), failed: map[string]int{}}
	c.ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := c.open(); err != nil {
		return nil, errors.Join(err, c.Leave())
	}
	c.work.Go(c.letIn)
	if err := c.await(ctx); err != nil {
		return nil, errors.Join(err, c.Leave())
	}
	return c, nil
}

// open starts the loops and deals the players to them.
func (c *Crowd) open() error {
	for range c.options.Loops {
		open := newPoller
		if c.options.Portable {
			open = func() (poller, error) { return newPortable(), nil }
		}
		q, err := open()
		if err != nil {
			return err
		}
		l := &loop{
			options: &c.options, clock: c.clock, door: c, poller: q, views: map[string]*view{},
			clocks: make([]offset, len(c.options.Targets)), tally: newTally(),
		}
		c.loops = append(c.loops, l)
	}
	for i := range c.options.Players {
		l := c.loops[i%len(c.loops)]
		campaign := c.options.Campaigns[i%len(c.options.Campaigns)]
		if l.views[campaign] == nil {
			l.views[campaign] = newView()
		}
		l.players = append(l.players, &player{
			id: i, target: i % len(c.options.Targets), view: l.views[campaign], coming: true,
			stalled: i < c.options.Stalled,
		})
	}
	for _, l := range c.loops {
		c.work.Go(func() {
			if err := l.run(); err != nil {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.broken = errors.Join(c.broken, err)
			}
		})
	}
	return nil
}

// letIn has every player connect, each at its moment of the ramp.
func (c *Crowd) letIn() {
	for i := range c.options.Players {
		p := c.loops[i%len(c.loops)].players[i/len(c.loops)]
		at := c.options.Ramp * time.Duration(i) / time.Duration(c.options.Players)
		if !pause(c.ctx, at-time.Duration(c.clock())) || !c.queueUp() {
			return
		}
		c.work.Go(func() { c.connect(p) })
	}
}

// connectLater has a player connect after a pause; why is what it had to leave for.
func (c *Crowd) connectLater(p *player, d time.Duration, why error) {
	c.mu.Lock()
	c.lastErr = why
	c.mu.Unlock()
	c.work.Go(func() {
		if pause(c.ctx, d) && c.queueUp() {
			c.connect(p)
		}
	})
}

// queueUp waits until one more connection may be made, and tells whether it may.
func (c *Crowd) queueUp() bool {
	select {
	case c.dialing <- struct{}{}:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// connect makes the connection of a player who has queued up, and hands it to its loop.
func (c *Crowd) connect(p *player) {
	defer func() { <-c.dialing }()
	conn, rest, err := c.dial(p)
	if errors.Is(err, context.Canceled) {
		return
	}
	l := c.loops[p.id%len(c.loops)]
	if accepted := l.do(func() { l.admit(p, conn, rest, err) }); !accepted && conn != nil {
		_ = conn.Close() // everybody is leaving
	}
}

func (c *Crowd) dial(p *player) (conn net.Conn, rest []byte, err error) {
	if p.token == "" {
		if p.token, err = c.options.Token(c.ctx, p.id); err != nil {
			return nil, nil, err
		}
	}
	var header http.Header
	if c.options.Header != nil {
		header = c.options.Header(p.id)
	}
	return dial(c.ctx, c.options.Targets[p.target], p.id, header)
}

// arrive notes that a player has joined, or never will.
func (c *Crowd) arrive(p *player, err error) {
	waited := err == nil && c.queue.enter(p.id, time.Duration(c.clock()))
	c.change(func() {
		if waited {
			c.told--
		}
		if err == nil {
			c.joined++
			c.options.Arrived()
		} else {
			c.failed[err.Error()]++
			c.lastErr = err
		}
	})
}

// change changes how many have arrived, and wakes who waits for that.
func (c *Crowd) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.news)
	c.news = make(chan struct{})
}

// await waits until all have arrived, or it has waited long enough.
func (c *Crowd) await(ctx context.Context) error {
	limit := time.NewTimer(c.options.Ramp + c.options.JoinWithin)
	defer limit.Stop()
	for late := false; ; {
		joined, waiting, news, last := c.arrivals()
		switch {
		case (joined > 0 || c.options.Knock) && waiting == 0 || joined > 0 && late:
			return nil
		case waiting == 0:
			return fmt.Errorf("no player could join: %w", last)
		case late && last == nil:
			return errors.New("no player could join in time; is it a redrain server, and does it answer?")
		case late:
			return fmt.Errorf("no player could join in time: %w", last)
		}
		select {
		case <-news:
		case <-limit.C:
			late = true
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// arrivals are how many have joined, how many may still come, when that will change, and what went wrong last.
func (c *Crowd) arrivals() (joined, waiting int, news <-chan struct{}, last error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting = c.options.Players - c.joined
	for _, n := range c.failed {
		waiting -= n
	}
	if c.options.Knock {
		waiting -= c.told
	}
	return c.joined, waiting, c.news, c.lastErr
}

// Leave ends all connections and waits for all that belongs to them.
func (c *Crowd) Leave() error {
	c.stop()
	for _, l := range c.loops {
		l.do(l.farewell)
	}
	c.work.Wait()
	return c.broken
}

// pause waits, and tells whether it was not cut short.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
