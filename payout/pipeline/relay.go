package pipeline

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/sync/errgroup"

	"redrain/internal/loop"
	"redrain/rain"
)

// RelayOptions are the settings of a Relay. The zero value is usable.
type RelayOptions struct {
	Workers    int                   // shards read at once; 0 = 4
	SweepEvery time.Duration         // how often the outboxes are looked at; 0 = 500 ms
	Grace      time.Duration         // how long the node that has decided an entry has to publish it; 0 = 5 s
	Patience   time.Duration         // how long an entry may be unsettled before it is published again; 0 = 5 s
	Turn       Turn                  // which node relays; nil = this one
	Clock      rain.Clock            // the cluster's time; nil = this machine's
	Recoverer  *loop.Recoverer       // nil: panics are logged only
	Log        *slog.Logger          // nil = slog.Default
	Registerer prometheus.Registerer // nil = no metrics
}

// Turn lets one node at a time work; cluster.Lease does.
type Turn interface {
	// Under does the work if it is this node's turn. The work's context ends when it is another one's.
	Under(ctx context.Context, do func(context.Context) error) error
	Release(ctx context.Context)
}

const (
	pageLimit    = 128 // entries read in one call
	pagesAtOnce  = 16  // read from one shard in one sweep
	publishTries = 10  // of one batch, about ten seconds; then it comes again with what is unsettled
	turnEvery    = time.Second
	// fruitless is after how long without success a node lets another one try.
	fruitless = 15 * time.Second
)

// errFruitless says that this node cannot relay, and another one may.
var errFruitless = errors.New("nothing could be relayed for a while; another node may have more luck")

// Relay looks after the entries that stay in their outbox: those whose node died before it published them,
// reclaims, and what got lost on its way to the ledger. It carries them to JetStream. It may publish an entry any
// number of times.
type Relay struct {
	publisher *Publisher
	outbox    Outbox
	campaigns Lister
	o         RelayOptions
	published *history // what stayed unsettled and was published again
	link      link
	mu        sync.Mutex
	after     map[outboxKey]string // where the next sweep goes on; absent = at the oldest
	worked    time.Time            // when a sweep last found everything working

	pending prometheus.Gauge
	relayed prometheus.Counter

	redis    loop.FailureLog
	jetstate loop.FailureLog
}

// outboxKey names one outbox.
type outboxKey struct {
	campaign string
	shard    int
}

// NewRelay makes a relay. Nothing happens before Run.
func NewRelay(publisher *Publisher, outbox Outbox, campaigns Lister, o RelayOptions) *Relay {
	o.Workers = cmp.Or(o.Workers, 4)
	o.SweepEvery = cmp.Or(o.SweepEvery, 500*time.Millisecond)
	o.Grace = cmp.Or(o.Grace, 5*time.Second)
	o.Patience = cmp.Or(o.Patience, 5*time.Second)
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Clock == nil {
		o.Clock = func() int64 { return time.Now().UnixMilli() }
	}
	metrics := promauto.With(o.Registerer)
	return &Relay{
		publisher: publisher, outbox: outbox, campaigns: campaigns, o: o,
		published: newHistory(o.Patience), after: map[outboxKey]string{},
		link: link{conn: publisher.stream.js.Conn()},
		pending: metrics.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_outbox_pending", Help: "Outbox entries that are not in the ledger yet, over all live " +
				"campaigns; on the node that relays.",
		}),
		relayed: metrics.NewCounter(prometheus.CounterOpts{
			Name: "redrain_relayed_total", Help: "Outbox entries that were published from Redis: reclaims, those of " +
				"nodes that died, and what stayed unsettled.",
		}),
		redis:    loop.FailureLog{Work: "reading the outboxes", Log: o.Log},
		jetstate: loop.FailureLog{Work: "publishing to JetStream", Log: o.Log},
	}
}

// Run relays whenever it is this node's turn, until ctx ends, and returns nil then.
func (r *Relay) Run(ctx context.Context) error {
	spec := loop.Spec{Part: "relay", Every: r.o.SweepEvery, Do: loop.Plain(r.sweep), Recoverer: r.o.Recoverer,
		Log: r.o.Log}
	if r.o.Turn != nil {
		defer r.o.Turn.Release(ctx)
		spec.Every, spec.Do = turnEvery, r.turn
	}
	return loop.Run(ctx, spec)
}

// turn relays if it is this node's turn; otherwise another node has it, or the database is away.
func (r *Relay) turn(ctx context.Context) error {
	defer r.pending.Set(0) // it is on the node that relays
	err := r.o.Turn.Under(ctx, r.relay)
	if errors.Is(err, errFruitless) {
		r.o.Log.Warn("this node stops relaying", "err", err)
		r.o.Turn.Release(ctx)
		loop.Sleep(ctx, fruitless)
	}
	return err
}

// relay sweeps as long as it is this node's turn.
func (r *Relay) relay(ctx context.Context) error {
	r.worked = time.Now()
	for loop.Sleep(ctx, r.o.SweepEvery) {
		r.o.Recoverer.Do("relay", func() { r.sweep(ctx) })
		if time.Since(r.worked) > fruitless {
			return errFruitless
		}
	}
	return nil
}

// sweep looks once after all outboxes.
func (r *Relay) sweep(ctx context.Context) {
	r.link.look()
	var all errgroup.Group
	all.SetLimit(r.o.Workers)
	var mu sync.Mutex
	failed := false
	live := map[outboxKey]bool{}
	for _, c := range r.campaigns.Live() {
		if c.Status == rain.Loading {
			continue // nothing can be won of it
		}
		for shard := range max(c.Shards, 1) {
			key := outboxKey{c.ID, shard}
			live[key] = true
			all.Go(func() error {
				r.o.Recoverer.Do("relay", func() {
					err := r.look(ctx, key)
					mu.Lock()
					defer mu.Unlock()
					failed = failed || err != nil
				})
				return nil
			})
		}
	}
	_ = all.Wait() // they fail one by one
	r.forget(live)
	r.published.prune()
	if r.count(ctx) && !failed {
		r.worked = time.Now()
	}
}

// forget drops what is remembered of outboxes that nobody looks after any more.
func (r *Relay) forget(live map[outboxKey]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.after {
		if !live[key] {
			delete(r.after, key)
		}
	}
}

// look publishes what is due of an outbox. Where more waits than one sweep can read, the next one goes on behind it.
func (r *Relay) look(ctx context.Context, key outboxKey) error {
	r.mu.Lock()
	after := r.after[key]
	r.mu.Unlock()
	for range pagesAtOnce {
		entries, next, err := r.outbox.Page(ctx, key.campaign, key.shard, after, pageLimit)
		if err != nil {
			r.failed(ctx, &r.redis, err)
			return err
		}
		r.redis.Works()
		old := r.old(entries)
		if err := r.publish(ctx, key, r.published.due(old)); err != nil {
			return err
		}
		if after = next; after == "" || ctx.Err() != nil || len(old) == 0 && len(entries) > 0 {
			after = "" // what follows is younger still
			break
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.after[key] = after
	return nil
}

// old are the entries that the node that has decided them would have published by now; and reclaims, which nobody else
// publishes.
//
// An outbox goes on from its newest id: where the clock of a Redis was ahead for a while, what comes after has ids of
// the future until the clock is there. For those the time counts at which their taps were sealed; where that is in the
// future too, nothing says how old the entry is, and it counts as old.
func (r *Relay) old(entries []rain.Entry) []rain.Entry {
	now, grace := r.o.Clock(), r.o.Grace.Milliseconds()
	late := r.link.up(r.o.Grace)
	old := make([]rain.Entry, 0, len(entries))
	for _, e := range entries {
		written, _, err := e.Ref.Position()
		decided := written
		if written > now {
			decided = e.SealedAt
		}
		if e.Reclaim != nil || err == nil && late && (decided <= now-grace || decided > now+grace) {
			old = append(old, e)
		}
	}
	return old
}

// count keeps the metric of what waits.
func (r *Relay) count(ctx context.Context) bool {
	var total int64
	for _, c := range r.campaigns.Live() {
		n, err := r.outbox.Pending(ctx, c)
		if err != nil {
			r.failed(ctx, &r.redis, err)
			return false
		}
		total += n
	}
	r.pending.Set(float64(total))
	return true
}

// publish gets entries of one outbox into the stream, if they may leave it. It tries for a while before it goes on, so
// that a short absence of JetStream costs no more than that; what it gives up comes again with the next sweep.
func (r *Relay) publish(ctx context.Context, key outboxKey, due []rain.Entry) (err error) {
	if len(due) == 0 {
		return nil
	}
	if err := r.outbox.MayLeave(ctx, due); err != nil {
		r.failed(ctx, &r.redis, err)
		return err
	}
	r.o.Log.Debug("publishing outbox entries", "campaign", key.campaign, "shard", key.shard, "entries", len(due))
	messages := make([]message, len(due))
	for i, e := range due {
		messages[i] = r.publisher.message(e)
	}
	for try := range publishTries {
		if messages, err = r.publisher.publishAll(ctx, messages); err == nil {
			r.jetstate.Works()
			r.relayed.Add(float64(len(due)))
			r.published.sent(due)
			return nil
		}
		r.failed(ctx, &r.jetstate, err)
		if !loop.Sleep(ctx, loop.Backoff(50*time.Millisecond, 2*time.Second, try)) {
			return err
		}
		// The stream may be what is missing.
		if _, err := r.publisher.stream.ensure(ctx); err != nil {
			r.failed(ctx, &r.jetstate, err)
		}
	}
	return err
}

// failed notes an error, unless it is the end.
func (r *Relay) failed(ctx context.Context, o *loop.FailureLog, err error) {
	if ctx.Err() == nil {
		o.Failed(err)
	}
}
