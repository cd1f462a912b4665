package campaigns

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"redrain/internal/loop"
	"redrain/rain"
)

// Run moves stock while this node has the lease, until ctx ends. A failure does not end it.
func (m *Mover) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "mover", Work: "take the lease of the mover", Every: moveRenew,
		Lease: m.lease, Do: m.watch, Recoverer: m.o.Recoverer, Log: m.o.Log})
}

// watch handles all campaigns while this node has the lease, each on its own: one that hangs or fails delays no other.
func (m *Mover) watch(ctx context.Context) error {
	clear(m.campaigns) // another node may have had the lease meanwhile
	m.listen(true)
	defer m.listen(false)
	var looks errgroup.Group
	looks.SetLimit(moveAtOnce)
	defer func() { _ = looks.Wait() }() // their failures are logged
	return loop.Run(ctx, loop.Spec{Part: "mover", Every: moveEvery, Wake: m.wake,
		Do: loop.Plain(func(ctx context.Context) { m.round(ctx, &looks) }),
		Woken: loop.Plain(func(ctx context.Context) {
			loop.Sleep(ctx, moveGather)
			m.round(ctx, &looks)
		}),
		Recoverer: m.o.Recoverer, Log: m.o.Log})
}

// turn runs the looks at a campaign one at a time.
type turn struct {
	mu     sync.Mutex
	taken  bool
	asked  bool            // another look was requested during this one
	failed loop.FailureLog // logs once that looks fail
}

// take begins a look, unless one is running.
func (t *turn) take() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = t.taken
	if t.taken {
		return false
	}
	t.taken = true
	return true
}

// end ends a look, and reports whether another one was requested meanwhile.
func (t *turn) end() (asked bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken = false
	return t.asked
}

// round starts a look at each campaign without a running one.
func (m *Mover) round(ctx context.Context, looks *errgroup.Group) {
	live := m.o.Known.Live()
	for _, c := range live {
		if max(c.Shards, 1) == 1 || c.Status == rain.Loading {
			continue
		}
		p := m.campaigns[c.ID]
		if p == nil {
			p = &pace{turn: turn{failed: loop.FailureLog{Work: "moving stock", Log: m.o.Log.With("campaign", c.ID)}}}
			m.campaigns[c.ID] = p
		}
		if p.turn.take() && !looks.TryGo(func() error { m.lookOnce(ctx, c, p); return nil }) {
			p.turn.end() // the limit of looks is reached: the next round comes soon
		}
	}
	m.forget(live)
}

// lookOnce looks at one campaign. The next look, or another node, continues interrupted work.
func (m *Mover) lookOnce(ctx context.Context, c *rain.Campaign, p *pace) {
	defer func() {
		if p.turn.end() {
			m.wake.Signal()
		}
	}()
	err := m.o.Recoverer.Try("mover", func() error {
		ctx, cancel := context.WithTimeout(ctx, moveWithin)
		defer cancel()
		return m.look(ctx, c, p)
	})
	p.turn.failed.Record(ctx, err)
	if errors.Is(err, loop.ErrPanic) {
		loop.Sleep(ctx, moveRenew)
	}
}

// forget drops the records of campaigns that are not live any more.
func (m *Mover) forget(live []*rain.Campaign) {
	dropDead(m.campaigns, live)
	m.mu.Lock()
	defer m.mu.Unlock()
	dropDead(m.demands, live)
}
