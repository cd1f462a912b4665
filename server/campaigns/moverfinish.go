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

// snags are the failures that keep a campaign's moves from completing. No stock is lent that would wait for the same
// failure: each round would take more out of the stock, and deliver none.
type snags struct {
	mu     sync.Mutex
	ledger bool         // it fails
	shards map[int]bool // shards with a failed step of a move
}

// note records the result of completing a move that depends on a shard.
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

// has reports whether moves of a shard wait.
func (s *snags) has(shard int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger || s.shards[shard]
}

// forget clears the failures.
func (s *snags) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ledger, s.shards = false, nil
}

// without returns the levels for a plan: a shard whose moves wait counts as unknown.
func (s *snags) without(levels []store.Level) []store.Level {
	levels = slices.Clone(levels)
	for shard := range levels {
		levels[shard].Known = levels[shard].Known && !s.has(shard)
	}
	return levels
}

// finish completes a campaign's moves: those with a row, and those that were only lent. A move to a lost shard waits
// for its rebuild. A failure delays no moves of other shards, unless it is the ledger's.
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

// try completes moves, several shards at the same time. Those of one shard run one after the other until one fails,
// because the others would fail as slowly.
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

// endAgain completes a lent move. The lending may have failed because it does not outlive its master. So it is repeated
// for no packets, which returns the lent packets only if they outlive it.
func (m *Mover) endAgain(ctx context.Context, campaign string, from int, was rain.Lent) error {
	lent, err := m.o.Stock.Lend(ctx, campaign, from, was.To, was.Move, 0)
	if err != nil || lent == nil { // nil: another node has completed it, or Redis was rolled back to before it
		return err
	}
	return m.end(ctx, campaign, from, *lent)
}
