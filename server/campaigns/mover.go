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
	moveEvery = 200 * time.Millisecond // between two looks at campaigns whose rain falls
	// moveGather is a pause before a round that was asked for: taps that run dry together are served together, and
	// many who ask do not keep Redis busy.
	moveGather = 5 * time.Millisecond
	moveLease  = 5 * time.Second
	moveRenew  = moveLease / 4
	// moveAtOnce is how many looks at campaigns go on at the same time: more than may hang.
	moveAtOnce = 64
	// moveWithin is the time for one campaign: one whose Redis hangs must not hold up the others.
	moveWithin = 5 * time.Second
	// moveGrace is how long a move that has begun may go on when this node is to stop.
	moveGrace = 2 * time.Second
	// finishEveryMS is how often a campaign is looked at for moves that somebody has begun and not ended.
	finishEveryMS = 5_000
	// finishAgainMS is when those that could not be ended are tried again.
	finishAgainMS = 1_000
	// movesAtOnce is how many moves of a campaign are made at the same time.
	movesAtOnce = 8
	// movesOfRound is how many are made before the shards are looked at again: taps wait for some hundred ms only, and
	// where they wait changes meanwhile.
	movesOfRound = 32
)

// Mover takes stock to where players are. A campaign's stock lies on its shards, and each player takes part on one of
// them; who runs dry there gets some from a shard that has more than its players need. One node at a time does it, by a
// lease; that saves work, and is no condition: each step of a move may be repeated by anybody.
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

	mu     sync.Mutex
	dry    map[string]map[dryOn]thirst // by campaign; nil while another node moves stock
	coming map[coming]int              // packets that moves under way bring to shards

	campaigns map[string]*pace // the rounds' own
}

// dryOn is a shard that has nothing left for taps of a node.
type dryOn struct {
	shard int
	node  string
}

// coming is where packets are on their way to.
type coming struct {
	campaign string
	shard    int
}

// thirst is how many taps wait there.
type thirst struct {
	taps int
	at   int64 // when that was heard, Unix ms
	base int   // how many the shard had given away then, or when it was looked at first; -1: not yet
}

// MovedStock takes packets out of a shard and puts them into another. [store.Moves] does.
type MovedStock interface {
	Lend(ctx context.Context, campaign string, from, to int, move string, count int) (*rain.Lent, error)
	Borrow(ctx context.Context, campaign string, lent rain.Lent) (number int64, err error)
	Done(ctx context.Context, campaign string, from int, move string) error
	Lent(ctx context.Context, campaign string, from int, move string) (bool, error)
	Forgot(ctx context.Context, campaign string, from int, lent rain.Lent) (lost bool, err error)
}

// MoveRows keeps what has been lent. [posting.Moves] does.
type MoveRows interface {
	Write(ctx context.Context, campaign string, from int, lent rain.Lent) error
	Done(ctx context.Context, move string, number int64) error
	Open(ctx context.Context, campaign string) ([]posting.Move, error)
}

// ShardLevels tells what each shard has. [store.Sums] does.
type ShardLevels interface {
	Shards(ctx context.Context, c *rain.Campaign) ([]store.Level, error)
}

// shardsWithin is how long a master may take to say what its shards have. What it does not say is unknown.
const shardsWithin = time.Second

// readShards reads what each shard of a campaign has. Where some are unknown it returns the others, and the reason;
// where all are, nil.
func readShards(ctx context.Context, from ShardLevels, c *rain.Campaign) ([]store.Level, error) {
	ctx, cancel := context.WithTimeout(ctx, shardsWithin)
	defer cancel()
	levels, err := from.Shards(ctx, c)
	for _, l := range levels {
		err = errors.Join(err, l.Err)
	}
	return levels, err
}

// MoverOptions of a mover. All are needed.
type MoverOptions struct {
	Node

	Stock  MovedStock
	Ledger MoveRows
	Sums   ShardLevels
}

// NewMover makes a mover. Its Run must be started.
func NewMover(o MoverOptions) *Mover {
	metrics := promauto.With(o.Registerer)
	return &Mover{
		o: o, wake: loop.NewWake(), campaigns: map[string]*pace{},
		coming: map[coming]int{}, lease: o.lease("mover", "mover", moveLease),
		moved: metrics.NewCounter(prometheus.CounterOpts{
			Name: "redrain_moved_packets_total", Help: "Packets taken from one shard's stock to another's.",
		}),
		failed: metrics.NewCounter(prometheus.CounterOpts{
			Name: "redrain_move_failures_total", Help: "Moves of stock that were begun and not ended at once; they " +
				"are carried on.",
		}),
		refused: metrics.NewCounter(prometheus.CounterOpts{
			Name: "redrain_moves_refused_total", Help: "Moves of stock that the ledger does not bear out; nothing " +
				"was moved by them.",
		}),
	}
}

// Dry hears that taps wait for stock on a shard.
func (m *Mover) Dry(campaign string, n cluster.DryShard) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dry == nil {
		return
	}
	if m.dry[campaign] == nil {
		m.dry[campaign] = map[dryOn]thirst{}
	}
	// What is on its way is for them; who gets nothing of it says so when it has come.
	taps := max(0, min(n.Taps, rain.MaxPackets)-m.coming[coming{campaign, n.Shard}])
	m.dry[campaign][dryOn{n.Shard, n.Node}] = thirst{taps, m.o.Clock(), -1}
	m.wake.Signal()
}

// listen begins or ends to remember where taps wait.
func (m *Mover) listen(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dry = nil
	if on {
		m.dry = map[string]map[dryOn]thirst{}
	}
}

// look ends what was begun of a campaign, and moves stock where its rain needs it.
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
		p.finishAt = now // the next round carries it on
	}
	return errors.Join(err, carried)
}

// plan says which moves to make between the shards of each lane, and tells of lanes that are sold out.
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

// inTurns takes one move of each lane after the other: a round has room for some only, and the first of each lane are
// for players who wait.
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

// expect counts packets that are on their way to a shard.
func (m *Mover) expect(campaign string, shard, count int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	to := coming{campaign, shard}
	if m.coming[to] += count; m.coming[to] == 0 {
		delete(m.coming, to)
	}
}

// needs is what the shards lack, as far as that was heard: for how many taps, and how many of them have won since.
func (m *Mover) needs(campaign string, levels []store.Level, now int64) map[int]need {
	m.mu.Lock()
	defer m.mu.Unlock()
	needs := map[int]need{}
	for on, t := range m.dry[campaign] {
		if now-t.at >= returnMS || on.shard < 0 || on.shard >= len(levels) {
			delete(m.dry[campaign], on)
			continue
		}
		won := levels[on.shard].Won
		if t.base < 0 || won < t.base { // heard just now; or the shard was rebuilt and knows fewer
			t.base = won
			m.dry[campaign][on] = t
		}
		lacks, one := max(t.taps-(won-t.base), 0), needs[on.shard]
		if now-t.at < thirstMS {
			one.waiting += lacks
		} else {
			one.missed += lacks
		}
		needs[on.shard] = one
	}
	return needs
}
