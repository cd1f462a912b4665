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

// errLedger says that the ledger could not be asked.
var errLedger = errors.New("the ledger fails")

// ofLedger is an error of the ledger. That it does not bear a move out is an answer.
func ofLedger(err error) error {
	if err == nil || errors.Is(err, posting.ErrMoveRefused) || errors.Is(err, posting.ErrCutOff) {
		return err
	}
	return fmt.Errorf("%w: %w", errLedger, err)
}

// carry makes the moves of a plan. When ctx ends, or the ledger fails, no other one is begun, and those that have begun
// are ended.
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

// end takes a move from its lending to its end.
func (m *Mover) end(ctx context.Context, campaign string, from int, lent rain.Lent) error {
	if err := ofLedger(m.o.Ledger.Write(ctx, campaign, from, lent)); err != nil {
		return err
	}
	faults.Point("move.after_row")
	return m.bring(ctx, campaign, from, lent)
}

// bring takes a move that has its row to its end.
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
		m.alarm(campaign, lent.To, lent.Move, err) // of its number only: it has come, and is done
	}
	faults.Point("move.after_done")
	m.moved.Add(float64(lent.Numbers.Count()))
	m.o.Log.Debug("stock has moved", "campaign", campaign, "from", from, "to", lent.To, "packets", lent.Numbers.Count())
	return m.o.Stock.Done(ctx, campaign, from, lent.Move)
}

// remembers takes the shard that has lent out of the game where it has forgotten that: a Redis that has gone back in
// time between the lending and the row offers the packets once more, and nobody can tell from its counts once it has
// lent others. The row stands, so the packets come, and a rebuild leaves them out.
//
// A shard that does not answer offers nothing meanwhile, and is looked at when it does (see Watch): nobody waits
// for it.
func (m *Mover) remembers(ctx context.Context, campaign string, from int, lent rain.Lent) error {
	known, err := m.o.Stock.Lent(ctx, campaign, from, lent.Move)
	if known || err != nil {
		return nil //nolint:nilerr // see above
	}
	// It forgets what is done, and only that: so it was right to forget unless the row is open still.
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
	m.o.wentBack(campaign, from, "it has forgotten that it lent packets", "move", lent.Move)
	return nil
}
