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
		return err
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
