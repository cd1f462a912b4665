package campaigns

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"golang.org/x/sync/errgroup"

	"redrain/grab/store"
	"redrain/internal/faults"
	"redrain/internal/outage"
	"redrain/internal/rounds"
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
	moveAtOnce = 8
	// moveWithin is the time for one campaign: one whose Redis hangs must not hold up the others.
	moveWithin = 5 * time.Second
	// moveGrace is how long a move that has begun may go on when this node is to stop.
	moveGrace = 2 * time.Second
	// finishEveryMS is how often a campaign is looked at for moves that somebody has begun and not ended.
	finishEveryMS = 5_000
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
	wake  chan struct{} // somebody has run dry

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

// MoverOptions of a mover. All are needed but those that say so.
type MoverOptions struct {
	Stock      MovedStock
	Ledger     MoveRows
	Sums       ShardLevels
	Leases     cluster.Leases
	Known      Known
	Bus        Bus
	Node       string        // this node's name in the lease
	Guard      *rounds.Guard // hears of a round that panics; nil: it is logged only
	Clock      rain.Clock
	Log        *slog.Logger
	Registerer prometheus.Registerer // nil: no metrics
}

// NewMover makes a mover. Its Run must be started.
func NewMover(o MoverOptions) *Mover {
	metrics := promauto.With(o.Registerer)
	return &Mover{
		o: o, wake: make(chan struct{}, 1), campaigns: map[string]*pace{},
		coming: map[coming]int{},
		lease: cluster.NewLease(cluster.LeaseOptions{Leases: o.Leases, Name: "mover", Part: "mover", Node: o.Node,
			TTL: moveLease, Renew: moveRenew, Guard: o.Guard, Log: o.Log}),
		moved: metrics.NewCounter(prometheus.CounterOpts{
			Name: "redrain_moved_packets_total", Help: "Packets taken from one shard's stock to another's.",
		}),
		failed: metrics.NewCounter(prometheus.CounterOpts{
			Name: "redrain_move_failures_total", Help: "Moves of stock that were begun and not ended at once; they " +
				"are " +
				"carried on.",
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
	m.wakeUp()
}

// wakeUp asks for a round.
func (m *Mover) wakeUp() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
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

// Run moves stock, whenever this node holds the lease, until ctx ends. Nothing that fails ends it.
func (m *Mover) Run(ctx context.Context) error {
	defer m.lease.Release(ctx)
	looking := outage.Outage{What: "moving stock", Log: m.o.Log}
	for ctx.Err() == nil {
		err := m.o.Guard.Try("mover", func() error { return m.lease.Under(ctx, m.watch) })
		looking.Ended(ctx, err)
		rounds.Sleep(ctx, moveRenew) // another node has the lease, or the database is away
	}
	return nil
}

// watch looks after all campaigns as long as this node has the lease.
func (m *Mover) watch(ctx context.Context) error {
	clear(m.campaigns) // another node may have gone on meanwhile
	m.listen(true)
	defer m.listen(false)
	tick := time.NewTicker(moveEvery)
	defer tick.Stop()
	for {
		if err := m.round(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-m.wake:
			rounds.Sleep(ctx, moveGather)
		}
	}
}

// round looks at each campaign once, some at a time. One that fails holds up no other; the last error is returned.
func (m *Mover) round(ctx context.Context) error {
	var g errgroup.Group
	g.SetLimit(moveAtOnce)
	live := m.o.Known.Live()
	for _, c := range live {
		if max(c.Shards, 1) == 1 || c.Status == rain.Loading {
			continue
		}
		p := m.campaigns[c.ID]
		if p == nil {
			p = &pace{}
			m.campaigns[c.ID] = p
		}
		g.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, moveWithin)
			defer cancel()
			return m.o.Guard.Try("mover", func() error { return m.look(ctx, c, p) })
		})
	}
	err := g.Wait()
	m.forget(live)
	if ctx.Err() != nil {
		err = nil // what was cut off is carried on by the next round, or by another node
	}
	return err
}

func (m *Mover) forget(live []*rain.Campaign) {
	still := make(map[string]bool, len(live))
	for _, c := range live {
		still[c.ID] = true
	}
	for id := range m.campaigns {
		if !still[id] {
			delete(m.campaigns, id)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.dry {
		if !still[id] {
			delete(m.dry, id)
		}
	}
}

// look ends what was begun of a campaign, and moves stock where its rain needs it.
func (m *Mover) look(ctx context.Context, c *rain.Campaign, p *pace) error {
	now := m.o.Clock()
	r := c.Current()
	falls := c.Status == rain.Open && r != nil && now >= r.StartsAt && now < r.TapsUntil()
	ends := now-p.finishedAt >= finishEveryMS
	if !falls && !ends {
		return nil
	}
	levels, err := m.o.Sums.Shards(ctx, c)
	if err != nil {
		return err
	}
	if ends || p.broken {
		// What cannot be ended now, because its shard is away, holds up no other move.
		err = m.finish(ctx, c, levels, &p.refusals)
		p.finishedAt, p.broken = now, err != nil
	}
	if !falls {
		return err
	}
	needs := m.needs(c.ID, levels, now)
	if soldOut(c, levels) {
		if len(needs) > 0 {
			m.o.Bus.SoldOut(c.ID)
		}
		return err
	}
	p.note(levels, now)
	moves := plan(levels, p.rates, needs, p.refusals.lenders(now))
	if len(moves) > movesOfRound {
		moves = moves[:movesOfRound]
		m.wakeUp()
	}
	carried := m.carry(ctx, c, moves, &p.refusals)
	p.broken = p.broken || carried != nil
	return errors.Join(err, carried)
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
				err = errors.Join(err, m.refuse(c.ID, shard, lent.Move, refusals, m.end(ctx, c.ID, shard, lent)))
			}
		}
	}
	return err
}
