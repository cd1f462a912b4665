package campaigns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"redrain/grab/store"
	"redrain/payout/ledger/posting"
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

// refusedMS is the time for which a refused move is not retried and its shard lends nothing, in milliseconds. The
// record stays in Redis until a person has looked at it, and must not keep the mover busy.
const refusedMS = 60_000

// refusedKept is the time after which a refusal without a repetition is dropped, in milliseconds: its record is gone.
const refusedKept = 10 * refusedMS

// errTorn means that no script has written a record of lent stock.
var errTorn = fmt.Errorf("%w: what the shard has of it cannot be read", posting.ErrMoveRefused)

// refusals are the refused moves of a campaign.
type refusals struct {
	mu    sync.Mutex
	moves map[refusedMove]refusal
}

// refusedMove identifies a move by its lending shard.
type refusedMove struct {
	from int
	move string
}

// refusal is the state of a refused move.
type refusal struct {
	again   int64 // Unix ms
	alarmed bool
}

// note records a refusal, and reports whether to raise an alarm now. A move that a rebuild has cut off may have been
// read before the rebuild: the alarm comes only if it is still there afterwards.
func (r *refusals) note(from int, move string, cutOff bool, now int64) (tell bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.moves == nil {
		r.moves = map[refusedMove]refusal{}
	}
	key := refusedMove{from, move}
	was, again := r.moves[key]
	if cutOff && !again {
		r.moves[key] = refusal{again: now + finishEveryMS}
		return false
	}
	r.moves[key] = refusal{again: now + refusedMS, alarmed: true}
	return !was.alarmed
}

// waits reports whether a move was refused within refusedMS. It drops old refusals.
func (r *refusals) waits(from int, move string, now int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, one := range r.moves {
		if now-one.again > refusedKept {
			delete(r.moves, key)
		}
	}
	one, refused := r.moves[refusedMove{from, move}]
	return refused && now < one.again
}

// lenders returns the shards that lend nothing now, because of refused moves.
func (r *refusals) lenders(now int64) map[int]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	none := map[int]bool{}
	for key, one := range r.moves {
		if one.alarmed && now < one.again {
			none[key.from] = true
		}
	}
	return none
}

// refuse records a refused move, and raises the alarm once. It returns any other error.
func (m *Mover) refuse(campaign string, from int, move string, refusals *refusals, err error) error {
	cutOff := errors.Is(err, posting.ErrCutOff)
	if !cutOff && !errors.Is(err, posting.ErrMoveRefused) {
		return err
	}
	if refusals.note(from, move, cutOff, m.o.Clock()) {
		m.alarm(campaign, from, move, err)
	} else {
		m.o.Log.Warn("a move of stock is void", "campaign", campaign, "shard", from, "move", move, "err", err)
	}
	return nil
}

// alarm raises the alarm about a move that the ledger refuses.
func (m *Mover) alarm(campaign string, shard int, move string, err error) {
	m.refused.Inc()
	m.o.Log.Error("a move of stock is refused, and nothing is moved by it", "campaign", campaign, "shard", shard,
		"move", move, "err", err)
	m.o.Bus.Alarm("move_refused", campaign, fmt.Sprintf("shard %d, move %.64s: %v. Another program has written to "+
		"Redis, or it was rolled back. Nothing is moved by it; the shard lends nothing for a while. See "+
		"docs/use/operate.md, \"A shard's records were altered\"", shard, move, err))
}
