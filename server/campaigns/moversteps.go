package campaigns

import (
	"context"
	"crypto/rand"
	"errors"

	"golang.org/x/sync/errgroup"

	"redrain/grab/store"
	"redrain/internal/faults"
	"redrain/internal/rounds"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// carry makes the moves of a plan. When ctx ends no other one is begun, and those that have begun are ended.
func (m *Mover) carry(ctx context.Context, c *rain.Campaign, moves []transfer, refusals *refusals) error {
	var g errgroup.Group
	g.SetLimit(movesAtOnce)
	for _, t := range moves {
		g.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			ctx, cancel := rounds.Graceful(ctx, moveGrace)
			defer cancel()
			m.expect(c.ID, t.to, t.count)
			defer m.expect(c.ID, t.to, -t.count)
			lent, err := m.o.Stock.Lend(ctx, c.ID, t.from, t.to, rand.Text(), t.count)
			if err != nil || lent == nil {
				return err
			}
			faults.Point("move.after_lend")
			return m.refuse(c.ID, t.from, lent.Move, refusals, m.end(ctx, c.ID, t.from, *lent))
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
	if err := m.o.Ledger.Write(ctx, campaign, from, lent); err != nil {
		return err
	}
	faults.Point("move.after_row")
	return m.bring(ctx, campaign, from, lent)
}

// endAgain ends a move that somebody has lent. The lending may have failed because it does not outlive its master: so
// it is asked for again, for no packets, which answers what is lent under the id only if that lasts.
func (m *Mover) endAgain(ctx context.Context, campaign string, from int, was rain.Lent) error {
	lent, err := m.o.Stock.Lend(ctx, campaign, from, was.To, was.Move, 0)
	if err != nil || lent == nil { // nil: somebody else has ended it, or Redis has gone back to before it
		return err
	}
	return m.end(ctx, campaign, from, *lent)
}

// bring takes a move that has its row to its end.
func (m *Mover) bring(ctx context.Context, campaign string, from int, lent rain.Lent) error {
	number, err := m.o.Stock.Borrow(ctx, campaign, lent)
	if err != nil {
		return err
	}
	faults.Point("move.after_borrow")
	m.o.Bus.Restocked(campaign, lent.To)
	if err := m.o.Ledger.Done(ctx, lent.Move, number); err != nil {
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

// finish ends the moves of a campaign that somebody has begun: those that have a row, and those that have only been
// lent. What goes to a shard that Redis does not know waits until that is rebuilt.
func (m *Mover) finish(ctx context.Context, c *rain.Campaign, levels []store.Level, refusals *refusals) error {
	open, err := m.o.Ledger.Open(ctx, c.ID)
	if err != nil {
		return err
	}
	done := map[string]bool{}
	for _, move := range open {
		done[move.Lent.Move] = true
		if move.To < len(levels) && !levels[move.To].Known {
			continue
		}
		err = errors.Join(err, m.bring(ctx, c.ID, move.From, move.Lent))
	}
	now := m.o.Clock()
	for shard, l := range levels {
		for _, move := range l.Torn {
			if !refusals.waits(shard, move, now) {
				err = errors.Join(err, m.refuse(c.ID, shard, move, refusals, errTorn))
			}
		}
		for _, lent := range l.Lent {
			if !done[lent.Move] && !refusals.waits(shard, lent.Move, now) {
				err = errors.Join(err, m.refuse(c.ID, shard, lent.Move, refusals, m.endAgain(ctx, c.ID, shard, lent)))
			}
		}
	}
	return err
}
