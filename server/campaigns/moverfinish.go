package campaigns

import (
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"redrain/grab/store"
	"redrain/rain"
)

// snags are what keeps moves of a campaign from being ended. Nothing is lent that would only wait there too: each round
// would take more out of a stock, and bring it nowhere.
type snags struct {
	mu     sync.Mutex
	ledger bool         // it fails
	shards map[int]bool // those where a step of a move has failed
}

// note takes in how the end of a move that hangs on a shard has failed, if it has.
func (s *snags) note(shard int, err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(err, errLedger) {
		s.ledger = true
		return
	}
	if s.shards == nil {
		s.shards = map[int]bool{}
	}
	s.shards[shard] = true
}

// has tells whether moves of a shard wait.
func (s *snags) has(shard int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger || s.shards[shard]
}

// forget begins anew.
func (s *snags) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ledger, s.shards = false, nil
}

// without is the levels for a plan: a shard whose moves wait counts as one of which nothing is known.
func (s *snags) without(levels []store.Level) []store.Level {
	levels = slices.Clone(levels)
	for shard := range levels {
		levels[shard].Known = levels[shard].Known && !s.has(shard)
	}
	return levels
}

// finish ends the moves of a campaign that somebody has begun: those that have a row, and those that have only been
// lent. What goes to a shard that Redis does not know waits until that is rebuilt. What cannot be ended now holds up no
// move of other shards, unless the ledger fails.
func (m *Mover) finish(ctx context.Context, c *rain.Campaign, levels []store.Level, p *pace) error {
	p.stuck.forget()
	open, err := m.o.Ledger.Open(ctx, c.ID)
	if err = ofLedger(err); err != nil {
		p.stuck.note(0, err)
		return err
	}
	done, to := map[string]bool{}, make([][]func() error, len(levels))
	for _, move := range open {
		done[move.Lent.Move] = true
		if move.To < len(levels) && levels[move.To].Known {
			to[move.To] = append(to[move.To], func() error { return m.bring(ctx, c.ID, move.From, move.Lent) })
		}
	}
	err = p.stuck.try(to)
	from, now := make([][]func() error, len(levels)), m.o.Clock()
	for shard, l := range levels {
		for _, move := range l.Torn {
			if !p.refusals.waits(shard, move, now) {
				err = errors.Join(err, m.refuse(c.ID, shard, move, &p.refusals, errTorn))
			}
		}
		for _, lent := range l.Lent {
			if !done[lent.Move] && !p.refusals.waits(shard, lent.Move, now) {
				from[shard] = append(from[shard], func() error {
					return m.refuse(c.ID, shard, lent.Move, &p.refusals, m.endAgain(ctx, c.ID, shard, lent))
				})
			}
		}
	}
	return errors.Join(err, p.stuck.try(from))
}

// try ends moves, those of some shards at the same time, and of each shard one after the other until one fails: the
// others would fail as slowly.
func (s *snags) try(moves [][]func() error) error {
	var g errgroup.Group
	g.SetLimit(movesAtOnce)
	for shard, ends := range moves {
		g.Go(func() (err error) {
			for _, end := range ends {
				if s.has(shard) {
					return err
				}
				err = end()
				s.note(shard, err)
			}
			return err
		})
	}
	return g.Wait()
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
