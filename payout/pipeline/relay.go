package pipeline

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/sync/errgroup"

	"redrain/internal/loop"
	"redrain/rain"
)

// RelayOptions are the settings of a Relay. The zero value is usable.
type RelayOptions struct {
	Workers    int                   // shards read concurrently; 0 = 4
	SweepEvery time.Duration         // between two sweeps of the outboxes; 0 = 500 ms
	Grace      time.Duration         // the relay publishes an entry after this age if its own node has not; 0 = 5 s
	Patience   time.Duration         // wait before an unsettled entry is published again; 0 = 5 s
	Turn       Turn                  // which node relays; nil = this one
	Clock      rain.Clock            // the cluster's time; nil = this machine's
	Recoverer  *loop.Recoverer       // nil: panics are logged only
	Log        *slog.Logger          // nil = slog.Default
	Registerer prometheus.Registerer // nil = no metrics
}

// Outbox is the shards' outboxes: a win stays there until the ledger has it. confirm.Outbox implements it.
type Outbox interface {
	// Page reads at most limit entries after an id, the oldest first; "" begins with the oldest. next is the id for
	// the following page, "" after the last page.
	Page(ctx context.Context, campaign string, shard int, after string, limit int) (entries []rain.Entry, next string,
		err error)
	// MayLeave returns nil if entries of one shard, the oldest first, may be published: the loss of a Redis server
	// can no longer remove them.
	MayLeave(ctx context.Context, entries []rain.Entry) error
	// Remove deletes entries that the ledger has. A missing entry is no error.
	Remove(ctx context.Context, refs []rain.EntryRef) error
	// Pending counts the entries of a campaign that are not removed.
	Pending(ctx context.Context, c *rain.Campaign) (int64, error)
}

// Lister lists the campaigns that may have outbox entries, read-only; cluster.Known implements it.
type Lister interface {
	Live() []*rain.Campaign
}

// Turn lets one node at a time work; cluster.Lease does.
type Turn interface {
	// Under runs do if it is this node's turn. The context of do ends when another node gets the turn.
	Under(ctx context.Context, do func(context.Context) error) error
	Release(ctx context.Context)
}

const (
	pageLimit    = 128 // entries read in one call
	pagesAtOnce  = 16  // read from one shard in one sweep
	publishTries = 10  // of one batch, about ten seconds; a later sweep tries again
	turnEvery    = time.Second
	// fruitless is the time without success after which a node passes its turn to another one.
	fruitless = 15 * time.Second
)

// errFruitless ends the turn of a node that cannot relay.
var errFruitless = errors.New("relay outboxes: no success for 15 s; another node takes over")

// Relay is the outbox sweeper. It publishes the entries that stay in their outbox: entries of nodes that died before
// publishing them, reclaims, and entries whose message was lost. It may publish an entry any number of times.
type Relay struct {
	publisher *Publisher
	outbox    Outbox
	campaigns Lister
	o         RelayOptions
	published *history // entries that stayed unsettled and were published again
	link      link
	mu        sync.Mutex
	after     map[outboxKey]string // the start of the next sweep; "" or absent = the oldest entry
	worked    time.Time            // the last sweep without a failure

	pending prometheus.Gauge
	relayed prometheus.Counter

	redis        loop.FailureLog
	jetStreamLog loop.FailureLog
}

// outboxKey names one outbox.
type outboxKey struct {
	campaign string
	shard    int
}

// NewRelay makes a relay. It does nothing before Run.
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
		redis:        loop.FailureLog{Work: "read the outboxes", Log: o.Log},
		jetStreamLog: loop.FailureLog{Work: "publish to JetStream", Log: o.Log},
	}
}

// Run relays whenever it is this node's turn. It returns nil when ctx ends.
func (r *Relay) Run(ctx context.Context) error {
	spec := loop.Spec{Part: "relay", Every: r.o.SweepEvery, Do: loop.Plain(r.sweep), Recoverer: r.o.Recoverer,
		Log: r.o.Log}
	if r.o.Turn != nil {
		defer r.o.Turn.Release(ctx)
		spec.Every, spec.Do = turnEvery, r.turn
	}
	return loop.Run(ctx, spec)
}

// turn relays if it is this node's turn. Otherwise another node has it, or the database is unreachable.
func (r *Relay) turn(ctx context.Context) error {
	defer r.pending.Set(0) // only the node that relays reports it
	err := r.o.Turn.Under(ctx, r.relay)
	if errors.Is(err, errFruitless) {
		r.o.Log.Warn("this node stops relaying", "err", err)
		r.o.Turn.Release(ctx)
		loop.Sleep(ctx, fruitless)
	}
	return err
}

// relay sweeps until the turn ends.
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

// sweep visits each outbox once.
func (r *Relay) sweep(ctx context.Context) {
	r.link.look()
	var all errgroup.Group
	all.SetLimit(r.o.Workers)
	var mu sync.Mutex
	failed := false
	live := map[outboxKey]bool{}
	for _, c := range r.campaigns.Live() {
		if c.Status == rain.Loading {
			continue // nothing was won yet
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
	_ = all.Wait() // look has counted their failures
	r.forget(live)
	r.published.prune()
	if r.count(ctx) && !failed {
		r.worked = time.Now()
	}
}

// forget drops the positions of outboxes that are not live any more.
func (r *Relay) forget(live map[outboxKey]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.after {
		if !live[key] {
			delete(r.after, key)
		}
	}
}

// look publishes the due entries of an outbox. If more entries wait than one sweep reads, the next sweep continues
// behind them.
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
			after = "" // the following entries are younger still
			break
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.after[key] = after
	return nil
}

// old returns the entries that their node should have published by now, and reclaims, which only the relay publishes.
//
// If the clock of a Redis was ahead for a while, an outbox continues from its newest id. Its new ids stay in the
// future until the clock gets there. For those the time of the seal counts. If that is in the future too, the entry
// counts as old.
func (r *Relay) old(entries []rain.Entry) []rain.Entry {
	now, grace := r.o.Clock(), r.o.Grace.Milliseconds()
	linked := r.link.up(r.o.Grace) // nodes had NATS for Grace, so they should have published
	old := make([]rain.Entry, 0, len(entries))
	for _, e := range entries {
		written, _, err := e.Ref.Position()
		decided := written
		if written > now {
			decided = e.SealedAt
		}
		if e.Reclaim != nil || err == nil && linked && (decided <= now-grace || decided > now+grace) {
			old = append(old, e)
		}
	}
	return old
}

// count sets the gauge of pending entries, and reports whether Redis answered.
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

// publish puts entries of one outbox into the stream if they may leave it. Its retries bridge a short outage of
// JetStream. The next sweep tries the rest again.
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
			r.jetStreamLog.Works()
			r.relayed.Add(float64(len(due)))
			r.published.sent(due)
			return nil
		}
		r.failed(ctx, &r.jetStreamLog, err)
		if !loop.Sleep(ctx, loop.Backoff(50*time.Millisecond, 2*time.Second, try)) {
			return err
		}
		// The stream may be missing.
		if _, err := r.publisher.stream.ensure(ctx); err != nil {
			r.failed(ctx, &r.jetStreamLog, err)
		}
	}
	return err
}

// failed logs an error unless ctx has ended.
func (r *Relay) failed(ctx context.Context, o *loop.FailureLog, err error) {
	if ctx.Err() == nil {
		o.Failed(err)
	}
}

// link measures how long a connection to NATS has been up.
type link struct {
	conn *nats.Conn

	mu         sync.Mutex
	since      time.Time // zero: it is down
	reconnects uint64
}

// look is called periodically. The client's count of reconnects shows a break between two calls.
func (l *link) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	made := l.conn.Stats().Reconnects
	switch {
	case l.conn.Status() != nats.CONNECTED:
		l.since = time.Time{}
	case l.since.IsZero(), made != l.reconnects:
		l.since = time.Now()
	}
	l.reconnects = made
}

// up reports whether the connection has been up for span without a break.
func (l *link) up(span time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.since.IsZero() && time.Since(l.since) >= span
}
