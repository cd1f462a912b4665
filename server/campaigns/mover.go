package campaigns

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/grab/store"
	"redrain/internal/loop"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/server/cluster"
)

const (
	moveEvery = 200 * time.Millisecond // interval of the rounds during a rain
	// moveGather is the pause before a requested round. It serves many waiting taps together, and spares Redis.
	moveGather = 5 * time.Millisecond
	moveLease  = 5 * time.Second
	moveRenew  = moveLease / 4
	// moveAtOnce is the number of campaigns handled at the same time: more than may hang.
	moveAtOnce = 64
	// moveWithin is the limit for one campaign: one whose Redis hangs must not delay the others.
	moveWithin = 5 * time.Second
	// moveGrace is the limit for completing a move while this node stops.
	moveGrace = 2 * time.Second
	// finishEveryMS is the interval at which a campaign is checked for incomplete moves.
	finishEveryMS = 5_000
	// finishAgainMS is the pause before failed ones are retried.
	finishAgainMS = 1_000
	// movesAtOnce is the number of a campaign's moves in flight.
	movesAtOnce = 8
	// movesOfRound is the number of moves before the shards are read again: taps wait for some hundred ms only, and the
	// demand changes meanwhile.
	movesOfRound = 32
)

// Mover moves stock to the shards with demand. Each player has one home shard, and an empty shard gets stock from one
// that has more than its players need. One node at a time does it, by a lease, which only avoids double work: any node
// may repeat each step of a move.
//
//	lend (the packets leave the stock of one shard, and are kept there under the move's id) → a row in the ledger →
//	borrow (they come into the stock of another shard, once for an id) → done
type Mover struct {
	o     MoverOptions
	lease *cluster.Lease
	wake  loop.Wake

	moved   prometheus.Counter
	failed  prometheus.Counter
	refused prometheus.Counter

	mu      sync.Mutex
	demands map[string]map[emptyOn]demand // by campaign; nil while another node has the lease
	coming  map[coming]int                // packets in flight to shards

	campaigns map[string]*pace // used by the rounds only
}

// emptyOn is an empty shard with waiting taps on a node.
type emptyOn struct {
	shard int
	node  string
}

// coming is a shard to which packets are in flight.
type coming struct {
	campaign string
	shard    int
}

// demand counts the taps that wait on an empty shard of a node.
type demand struct {
	taps int
	at   int64 // time of the notice, Unix ms
	base int   // wins of the shard at that time, or at the first reading after it; -1: not yet read
}

// MovedStock moves packets from one shard to another. [store.Moves] implements it.
type MovedStock interface {
	Lend(ctx context.Context, campaign string, from, to int, move string, count int) (*rain.Lent, error)
	Borrow(ctx context.Context, campaign string, lent rain.Lent) (number int64, err error)
	Done(ctx context.Context, campaign string, from int, move string) error
	Lent(ctx context.Context, campaign string, from int, move string) (bool, error)
	Forgot(ctx context.Context, campaign string, from int, lent rain.Lent) (lost bool, err error)
}

// MoveRows stores the lent packets. [posting.Moves] implements it.
type MoveRows interface {
	Write(ctx context.Context, campaign string, from int, lent rain.Lent) error
	Done(ctx context.Context, move string, number int64) error
	Open(ctx context.Context, campaign string) ([]posting.Move, error)
}

// ShardLevels reads each shard's stock. [store.Sums] implements it.
type ShardLevels interface {
	Shards(ctx context.Context, c *rain.Campaign) ([]store.Level, error)
}

// shardsWithin is the limit of a master's answer about its shards. Shards without an answer are unknown.
const shardsWithin = time.Second

// readShards reads each shard's stock. If some are unknown, it returns the others and the reason. If all are, it
// returns nil levels.
func readShards(ctx context.Context, from ShardLevels, c *rain.Campaign) ([]store.Level, error) {
	ctx, cancel := context.WithTimeout(ctx, shardsWithin)
	defer cancel()
	levels, err := from.Shards(ctx, c)
	for _, l := range levels {
		err = errors.Join(err, l.Err)
	}
	return levels, err
}

// MoverOptions are the options of a Mover. All are required.
type MoverOptions struct {
	Node

	Stock  MovedStock
	Ledger MoveRows
	Sums   ShardLevels
}

// NewMover returns a mover. Its Run must be started.
func NewMover(o MoverOptions) *Mover {
	metrics := promauto.With(o.Registerer)
	return &Mover{
		o: o, wake: loop.NewWake(), campaigns: map[string]*pace{},
		coming: map[coming]int{}, lease: o.lease("mover", "mover", moveLease),
		moved: metrics.NewCounter(prometheus.CounterOpts{
			Name: "redrain_moved_packets_total", Help: "Packets moved from one shard's stock to another's.",
		}),
		failed: metrics.NewCounter(prometheus.CounterOpts{
			Name: "redrain_move_failures_total", Help: "Moves of stock that were begun and not completed at " +
				"once; they are carried on.",
		}),
		refused: metrics.NewCounter(prometheus.CounterOpts{
			Name: "redrain_moves_refused_total", Help: "Moves of stock that the ledger refuses; nothing " +
				"was moved by them.",
		}),
	}
}

// Dry takes the notice that taps wait for stock on a shard.
func (m *Mover) Dry(campaign string, n cluster.DryShard) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.demands == nil {
		return
	}
	if m.demands[campaign] == nil {
		m.demands[campaign] = map[emptyOn]demand{}
	}
	// Packets in flight serve some of them. Those without a packet are reported again after the arrival.
	taps := max(0, min(n.Taps, rain.MaxPackets)-m.coming[coming{campaign, n.Shard}])
	m.demands[campaign][emptyOn{n.Shard, n.Node}] = demand{taps, m.o.Clock(), -1}
	m.wake.Signal()
}

// listen starts or stops recording the demand.
func (m *Mover) listen(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.demands = nil
	if on {
		m.demands = map[string]map[emptyOn]demand{}
	}
}

// look completes the moves of a campaign, and moves stock where its rain needs it.
func (m *Mover) look(ctx context.Context, c *rain.Campaign, p *pace) error {
	now := m.o.Clock()
	r := c.Current()
	falls := c.Status == rain.Open && r != nil && now >= r.StartsAt && now < r.TapsUntil()
	ends := now >= p.finishAt
	if !falls && !ends {
		return nil
	}
	levels, err := readShards(ctx, m.o.Sums, c)
	if levels == nil {
		return err
	}
	if ends {
		unfinished := m.finish(ctx, c, levels, p)
		if p.finishAt = now + finishEveryMS; unfinished != nil {
			p.finishAt = now + finishAgainMS
		}
		err = errors.Join(err, unfinished)
	}
	if !falls {
		return err
	}
	needs := m.needs(c.ID, levels, now)
	p.note(levels, now)
	moves := m.plan(c, levels, p, needs, now)
	if len(moves) > movesOfRound {
		moves = moves[:movesOfRound]
		m.wake.Signal()
	}
	carried := m.carry(ctx, c, moves, &p.refusals)
	if carried != nil {
		p.finishAt = now // the next round continues it
	}
	return errors.Join(err, carried)
}

// plan returns the moves between the shards of each lane, and reports lanes that are sold out.
func (m *Mover) plan(c *rain.Campaign, levels []store.Level, p *pace, needs map[int]need, now int64) []transfer {
	var moves [][]transfer // of each lane
	layout := c.Layout()
	for lane := range rain.Lane(layout.Lanes()) {
		shards, packets := layout.Part(lane)
		if !soldOut(levels[shards.First:shards.Last+1], packets.Count()) {
			there := within(p.stuck.without(levels), shards)
			moves = append(moves, plan(there, p.rates, needs, p.refusals.lenders(now)))
			continue
		}
		for shard := range needs {
			if shard >= shards.First && shard <= shards.Last {
				m.o.Bus.SoldOut(c.ID, lane)
				break
			}
		}
	}
	return inTurns(moves)
}

// inTurns interleaves the moves of the lanes: a round makes some only, and the first of each lane are for waiting
// players.
func inTurns(lanes [][]transfer) (all []transfer) {
	for i, more := 0, true; more; i++ {
		more = false
		for _, moves := range lanes {
			if i < len(moves) {
				all, more = append(all, moves[i]), true
			}
		}
	}
	return all
}

// expect counts packets in flight to a shard.
func (m *Mover) expect(campaign string, shard, count int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	to := coming{campaign, shard}
	if m.coming[to] += count; m.coming[to] == 0 {
		delete(m.coming, to)
	}
}

// needs returns the reported demand of the shards, without the taps that have won since.
func (m *Mover) needs(campaign string, levels []store.Level, now int64) map[int]need {
	m.mu.Lock()
	defer m.mu.Unlock()
	needs := map[int]need{}
	for on, t := range m.demands[campaign] {
		if now-t.at >= returnMS || on.shard < 0 || on.shard >= len(levels) {
			delete(m.demands[campaign], on)
			continue
		}
		won := levels[on.shard].Won
		if t.base < 0 || won < t.base { // a new notice; or the shard was rebuilt with fewer wins
			t.base = won
			m.demands[campaign][on] = t
		}
		lacks, one := max(t.taps-(won-t.base), 0), needs[on.shard]
		if now-t.at < demandMS {
			one.waiting += lacks
		} else {
			one.missed += lacks
		}
		needs[on.shard] = one
	}
	return needs
}
