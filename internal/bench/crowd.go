package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"redrain/client"
)

// dialers is the number of connections being opened at the same time; more would only wait longer for the server.
const dialers = 64

// Crowd holds the players from Gather until Leave. One goroutine at a time may call its methods; Progress may be called
// at any time.
type Crowd struct {
	options Options
	began   time.Time
	players []*player
	views   map[string]*view // by campaign
	clocks  []serverClock    // by target
	tally   tally
	waiting waitingRoom
	dialing chan struct{}   // a token for each connection that is being opened
	ctx     context.Context //nolint:containedctx // of the players' goroutines: from Gather to Leave
	stop    context.CancelFunc
	work    sync.WaitGroup

	mu      sync.Mutex
	news    chan struct{} // closed and replaced when a player has joined, or has been refused
	joined  int
	told    int            // players who wait for a slot
	failed  map[string]int // number of players who will never join, by the reason
	lastErr error
}

// Gather lets the players connect and join. It returns when all have joined, or when the time is up and at least one
// has; see Options.Knock. The others may still join; Report.NotJoined has their reasons.
func Gather(ctx context.Context, o Options) (*Crowd, error) {
	if err := CheckPlayers(o.Players); err != nil {
		return nil, err
	}
	o.JoinWithin = cmp.Or(o.JoinWithin, 30*time.Second)
	c := newCrowd(ctx, o)
	for i, p := range c.players {
		at := o.Ramp * time.Duration(i) / time.Duration(o.Players)
		c.work.Go(func() {
			if Pause(c.ctx, at) {
				p.live(c.ctx)
			}
		})
	}
	if err := c.await(ctx); err != nil {
		c.Leave()
		return nil, err
	}
	return c, nil
}

func newCrowd(ctx context.Context, o Options) *Crowd {
	c := &Crowd{options: o, began: time.Now(), views: map[string]*view{}, clocks: make([]serverClock, len(o.Targets)),
		dialing: make(chan struct{}, dialers), news: make(chan struct{}), failed: map[string]int{}}
	c.tally.take()
	c.ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	for i := range o.Players {
		campaign := o.Campaigns[i%len(o.Campaigns)]
		if c.views[campaign] == nil {
			c.views[campaign] = newView()
		}
		c.players = append(c.players, &player{crowd: c, id: i, campaign: campaign, view: c.views[campaign],
			target: i % len(o.Targets), isNew: true, pending: map[int64]tap{}, touched: map[*wave]int{}})
	}
	return c
}

// dial connects a player to its target and says hello.
func (c *Crowd) dial(ctx context.Context, p *player) (*client.Socket, error) {
	select {
	case c.dialing <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-c.dialing }()
	if p.token == "" {
		var err error
		if p.token, err = c.options.Token(ctx, p.id); err != nil {
			return nil, err
		}
	}
	target := c.options.Targets[p.target]
	o := client.SocketOptions{URL: target}
	if u, err := url.Parse(target); err == nil {
		o.LocalAddr = SourceAddress(u.Host, p.id)
	}
	if c.options.Header != nil {
		o.Header = c.options.Header(p.id)
	}
	return client.Dial(ctx, o)
}

// arrive records that a player has joined for the first time.
func (c *Crowd) arrive(p *player) {
	waited, joined := c.waiting.enter(p.id), 0
	c.change(func() {
		if waited {
			c.told--
		}
		c.joined++
		joined = c.joined
	})
	if c.options.Arrived != nil {
		c.options.Arrived(joined)
	}
}

// giveUp records that a player will never join.
func (c *Crowd) giveUp(err error) {
	c.change(func() {
		c.failed[err.Error()]++
		c.lastErr = err
	})
}

// change changes the numbers of arrivals, and wakes await.
func (c *Crowd) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.news)
	c.news = make(chan struct{})
}

// await waits until all have arrived, or the time is up.
func (c *Crowd) await(ctx context.Context) error {
	limit := time.NewTimer(c.options.Ramp + c.options.JoinWithin)
	defer limit.Stop()
	for late := false; ; {
		joined, missing, news, last := c.arrivals()
		switch {
		case (joined > 0 || c.options.Knock) && missing == 0 || joined > 0 && late:
			return nil
		case missing == 0:
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

// arrivals counts the joined players and those that may still join. news is closed at the next change.
func (c *Crowd) arrivals() (joined, missing int, news <-chan struct{}, last error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	missing = c.options.Players - c.joined
	for _, n := range c.failed {
		missing -= n
	}
	if c.options.Knock {
		missing -= c.told
	}
	return c.joined, missing, c.news, c.lastErr
}

// AwaitRain waits until it rains on some of the players. It reports false if ctx ends before.
func (c *Crowd) AwaitRain(ctx context.Context) bool {
	const look = 10 * time.Millisecond
	for {
		for _, p := range c.players {
			if p.isRainedOn() {
				return true
			}
		}
		if !Pause(ctx, look) {
			return false
		}
	}
}

// Play lets the players tap, waits for the missing results, and reports. ctx ends the tapping early.
func (c *Crowd) Play(ctx context.Context, plan Plan) *Report {
	plan.Drain = cmp.Or(plan.Drain, 10*time.Second)
	processor, begin := processorTime(), time.Now()
	c.tally.begin()
	for _, p := range c.players {
		p.start(&plan)
	}
	tapping, cancel := context.WithTimeout(ctx, plan.Duration)
	defer cancel()
	if plan.Rate > 0 && !plan.Watch {
		c.keepPace(tapping, plan.Rate, begin)
	}
	<-tapping.Done()
	c.tally.end()
	for _, p := range c.players {
		p.stop()
	}
	took, used := time.Since(begin), processorTime()-processor
	c.drain(plan.Drain)
	return c.report(plan, begin, took, used)
}

// drain waits until every tap is answered, or the time is up. It does so after an early end as well: the server still
// decides the taps that it has received.
func (c *Crowd) drain(limit time.Duration) {
	const look = 10 * time.Millisecond
	for deadline := time.Now().Add(limit); time.Now().Before(deadline) && c.Progress().Pending > 0; {
		if !Pause(c.ctx, look) {
			return
		}
	}
}

// keepPace taps at even distances until ctx ends, each time with the next player who can tap. Go's timers are exact to
// a millisecond; several taps may then be due at once.
func (c *Crowd) keepPace(ctx context.Context, rate float64, begin time.Time) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	turn := 0
	for n := 0; ctx.Err() == nil; n++ {
		at := begin.Add(time.Duration(float64(time.Second) / rate * float64(n)))
		if wait := time.Until(at); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
		}
		turn = c.tapOpen(turn, at)
	}
}

// tries is the number of players that are tried for a tap.
const tries = 16

// tapOpen taps with the first player from turn on who can, and returns the next turn.
func (c *Crowd) tapOpen(turn int, at time.Time) (next int) {
	connected := false
	for range min(tries, len(c.players)) {
		p := c.players[turn]
		turn = (turn + 1) % len(c.players)
		sent, joined := p.tapAt(at)
		if sent {
			return turn
		}
		connected = connected || joined
	}
	c.tally.count(func(t *counts) {
		if connected {
			t.NothingInAir++
		} else {
			t.NobodyThere++
		}
	})
	return turn
}

// Leave ends all connections and waits for their goroutines.
func (c *Crowd) Leave() {
	c.stop()
	c.work.Wait()
}

// Pause waits. It reports false if ctx ends before.
func Pause(ctx context.Context, d time.Duration) bool {
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
