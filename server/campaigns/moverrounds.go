package campaigns

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"redrain/internal/faults"
	"redrain/internal/loop"
	"redrain/payout/ledger/posting"
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

// round starts a look at each campaign without a running one.
func (m *Mover) round(ctx context.Context, looks *errgroup.Group) {
	live := m.o.Known.Live()
	for _, c := range live {
		if max(c.Shards, 1) == 1 || c.Status == rain.Loading {
			continue
		}
		p := m.campaigns[c.ID]
		if p == nil {
			p = &pace{failed: loop.FailureLog{Work: "moving stock", Log: m.o.Log.With("campaign", c.ID)}}
			m.campaigns[c.ID] = p
		}
		if p.asked.Add(1) == 1 && !looks.TryGo(func() error { m.lookOnce(ctx, c, p); return nil }) {
			p.asked.Store(0) // the limit of looks is reached: the next round comes soon
		}
	}
	m.forget(live)
}

// lookOnce looks at one campaign. The next look, or another node, continues interrupted work.
func (m *Mover) lookOnce(ctx context.Context, c *rain.Campaign, p *pace) {
	defer func() {
		if p.asked.Swap(0) > 1 { // another look was requested meanwhile
			m.wake.Signal()
		}
	}()
	err := m.o.Recoverer.Try("mover", func() error {
		ctx, cancel := context.WithTimeout(ctx, moveWithin)
		defer cancel()
		return m.look(ctx, c, p)
	})
	p.failed.Record(ctx, err)
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

// errLedger means that the ledger did not answer.
var errLedger = errors.New("the ledger fails")

// ofLedger wraps an error of the ledger in errLedger. A refusal of a move is an answer.
func ofLedger(err error) error {
	if err == nil || errors.Is(err, posting.ErrMoveRefused) || errors.Is(err, posting.ErrCutOff) {
		return err
	}
	return fmt.Errorf("%w: %w", errLedger, err)
}

// carry makes the moves of a plan. When ctx ends, or the ledger fails, it starts no more moves, and completes the
// started ones.
func (m *Mover) carry(ctx context.Context, c *rain.Campaign, moves []transfer, refusals *refusals) error {
	var g errgroup.Group
	g.SetLimit(movesAtOnce)
	var down atomic.Bool
	for _, t := range moves {
		g.Go(func() error {
			if ctx.Err() != nil || down.Load() {
				return nil
			}
			ctx, cancel := loop.Graceful(ctx, moveGrace)
			defer cancel()
			m.expect(c.ID, t.to, t.count)
			defer m.expect(c.ID, t.to, -t.count)
			lent, err := m.o.Stock.Lend(ctx, c.ID, t.from, t.to, rand.Text(), t.count)
			if err != nil || lent == nil {
				return err
			}
			faults.Point("move.after_lend")
			err = m.refuse(c.ID, t.from, lent.Move, refusals, m.end(ctx, c.ID, t.from, *lent))
			if errors.Is(err, errLedger) {
				down.Store(true)
			}
			return err
		})
	}
	err := g.Wait()
	if err != nil {
		m.failed.Inc()
	}
	return err
}

// end completes a move after its lending.
func (m *Mover) end(ctx context.Context, campaign string, from int, lent rain.Lent) error {
	if err := ofLedger(m.o.Ledger.Write(ctx, campaign, from, lent)); err != nil {
		return err
	}
	faults.Point("move.after_row")
	return m.bring(ctx, campaign, from, lent)
}

// bring completes a move that has its row.
func (m *Mover) bring(ctx context.Context, campaign string, from int, lent rain.Lent) error {
	if err := m.remembers(ctx, campaign, from, lent); err != nil {
		return err
	}
	number, err := m.o.Stock.Borrow(ctx, campaign, lent)
	if err != nil {
		return err
	}
	faults.Point("move.after_borrow")
	m.o.Bus.Restocked(campaign, lent.To)
	if err := ofLedger(m.o.Ledger.Done(ctx, lent.Move, number)); err != nil {
		if !errors.Is(err, posting.ErrMoveRefused) {
			return err
		}
		m.alarm(campaign, lent.To, lent.Move, err) // about its number only: the move is done
	}
	faults.Point("move.after_done")
	m.moved.Add(float64(lent.Numbers.Count()))
	m.o.Log.Debug("stock has moved", "campaign", campaign, "from", from, "to", lent.To, "packets", lent.Numbers.Count())
	return m.o.Stock.Done(ctx, campaign, from, lent.Move)
}

// remembers takes the lending shard out of service if it has lost the move. A Redis that was rolled back between the
// lending and the row offers the packets again. Its counts do not show that after further moves. The row stands, so the
// packets arrive, and a rebuild leaves them out.
//
// A shard that does not answer offers nothing, and is checked when it answers again (see Watch), so remembers does not
// wait for it.
func (m *Mover) remembers(ctx context.Context, campaign string, from int, lent rain.Lent) error {
	known, err := m.o.Stock.Lent(ctx, campaign, from, lent.Move)
	if known || err != nil {
		return nil //nolint:nilerr // see above
	}
	// A shard drops only completed moves, so it has lost the move only if the row is still open.
	open, err := m.o.Ledger.Open(ctx, campaign)
	if err := ofLedger(err); err != nil {
		return err
	}
	if !slices.ContainsFunc(open, func(move posting.Move) bool { return move.Lent.Move == lent.Move }) {
		return nil
	}
	lost, err := m.o.Stock.Forgot(ctx, campaign, from, lent)
	if err != nil || !lost {
		return nil //nolint:nilerr // see above
	}
	m.o.wentBack(campaign, from, "it has lost the record of lent packets", "move", lent.Move)
	return nil
}
