package pipeline

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/internal/faults"
	"redrain/internal/outage"
	"redrain/internal/rounds"
	"redrain/rain"
)

// RelayOptions are the settings of a Relay. The zero value is usable.
type RelayOptions struct {
	Node       string                // this node's name among the readers of the outboxes; "" = a random one
	Workers    int                   // shards read at once; 0 = 4
	SweepEvery time.Duration         // how often shards are looked at that nobody has woken it for; 0 = 200 ms
	Patience   time.Duration         // how long an entry may be unsettled before it is published again; 0 = 5 s
	Guard      *rounds.Guard         // catches a panic in a round; nil = it is only logged
	Log        *slog.Logger          // nil = slog.Default
	Registerer prometheus.Registerer // nil = no metrics
}

const (
	readLimit  = 128  // entries read from a shard at once
	claimLimit = 2000 // entries claimed at once
	// claimRounds is how often one shard is claimed from in a row, so that a long outbox does not keep the others
	// waiting.
	claimRounds  = 5
	publishTries = 10 // of one batch, about ten seconds; then it comes again with what is unsettled
)

// Relay carries outbox entries to JetStream. It may publish an entry any number of times.
type Relay struct {
	publisher *Publisher
	wakes     *Wakes
	outbox    Outbox
	campaigns Lister
	o         RelayOptions
	published *history // what stayed unsettled and was published again
	pending   prometheus.Gauge

	redis    outage.Outage
	jetstate outage.Outage
}

// NewRelay makes a relay that puts into the stream what publisher does not have there already. Nothing happens before
// Run.
func NewRelay(publisher *Publisher, wakes *Wakes, outbox Outbox, campaigns Lister, o RelayOptions) *Relay {
	o.Node = cmp.Or(o.Node, "node-"+strings.ToLower(rand.Text()[:12]))
	o.Workers = cmp.Or(o.Workers, 4)
	o.SweepEvery = cmp.Or(o.SweepEvery, 200*time.Millisecond)
	o.Patience = cmp.Or(o.Patience, 5*time.Second)
	o.Log = cmp.Or(o.Log, slog.Default())
	return &Relay{
		publisher: publisher, wakes: wakes, outbox: outbox, campaigns: campaigns, o: o,
		published: newHistory(o.Patience),
		pending: promauto.With(o.Registerer).NewGauge(prometheus.GaugeOpts{
			Name: "redrain_outbox_pending", Help: "Outbox entries that are not in the ledger yet, over all live " +
				"campaigns.",
		}),
		redis:    outage.Outage{What: "reading the outboxes", Log: o.Log},
		jetstate: outage.Outage{What: "publishing to JetStream", Log: o.Log},
	}
}

// Run relays until ctx ends, and returns nil then. What it has read and not published is claimed by another node.
func (r *Relay) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for range r.o.Workers {
		wg.Go(func() { r.work(ctx) })
	}
	wg.Go(func() { r.o.Guard.Every(ctx, "relay", r.o.SweepEvery, r.sweep) })
	wg.Go(func() { r.o.Guard.Every(ctx, "relay", r.o.Patience/5, r.rescue) })
	wg.Go(func() { r.o.Guard.Every(ctx, "relay", r.o.Patience, r.count) })
	wg.Wait()
	// nats.go's publisher ends with the connection; to end it here leaves a goroutine behind where it has just
	// begun
	return nil
}

// sweep wakes the relay for every shard there is.
func (r *Relay) sweep(context.Context) {
	r.eachShard(func(key outboxKey) bool { r.wakes.Wake(key.campaign, key.shard); return true })
}

func (r *Relay) eachShard(do func(outboxKey) bool) {
	for _, c := range r.campaigns.Live() {
		if c.Status == rain.Loading {
			continue // nothing can be won of it
		}
		for shard := range max(c.Shards, 1) {
			if !do(outboxKey{c.ID, shard}) {
				return
			}
		}
	}
}

func (r *Relay) work(ctx context.Context) {
	for {
		select {
		case key := <-r.wakes.queue:
			r.wakes.taken(key)
			r.o.Guard.Do("relay", func() { r.drain(ctx, key) })
		case <-ctx.Done():
			return
		}
	}
}

// drain publishes what is new in a shard.
func (r *Relay) drain(ctx context.Context, key outboxKey) {
	for ctx.Err() == nil {
		entries, err := r.outbox.Read(ctx, key.campaign, key.shard, r.o.Node, readLimit)
		if err != nil {
			r.failed(ctx, &r.redis, err)
			return
		}
		r.redis.Works()
		if len(entries) > 0 {
			faults.Point("relay.after_read")
		}
		r.publish(ctx, r.publisher.fresh.unknown(entries))
		if len(entries) < readLimit {
			return
		}
	}
}

// rescue publishes again what has stayed unsettled for too long: because its reader died, because the stream was
// lost, or because settlement is slow.
func (r *Relay) rescue(ctx context.Context) {
	withheld := false
	r.eachShard(func(key outboxKey) bool {
		for range claimRounds {
			entries, err := r.outbox.Claim(ctx, key.campaign, key.shard, r.o.Node, r.o.Patience, claimLimit)
			if err != nil {
				r.failed(ctx, &r.redis, err)
				break // of a Cluster, another part may work
			}
			due := r.published.due(entries)
			withheld = withheld || len(due) < len(entries)
			if len(due) > 0 {
				r.o.Log.Debug("publishing unsettled outbox entries again", "campaign", key.campaign, "shard", key.shard,
					"entries", len(due))
				r.publish(ctx, due)
				r.published.sent(due)
			}
			if len(entries) < claimLimit || ctx.Err() != nil {
				break
			}
		}
		return ctx.Err() == nil
	})
	if withheld {
		r.watchStream(ctx)
	}
	r.published.prune()
}

// watchStream looks whether the stream still has what was published to it. If not, everything unsettled is due at once.
func (r *Relay) watchStream(ctx context.Context) {
	now, err := r.publisher.stream.generation(ctx)
	if err != nil {
		r.failed(ctx, &r.jetstate, err)
		return
	}
	if r.published.lived(now) {
		r.o.Log.Warn("JetStream has lost messages; publishing all that is unsettled again")
	}
}

// count keeps the metric of what waits.
func (r *Relay) count(ctx context.Context) {
	var total int64
	for _, c := range r.campaigns.Live() {
		n, err := r.outbox.Pending(ctx, c)
		if err != nil {
			r.failed(ctx, &r.redis, err)
			return
		}
		total += n
	}
	r.pending.Set(float64(total))
}

// publish gets entries into the stream. It tries for a while before it reads on, so that a short absence of
// JetStream costs no more than that; what it gives up is safe where it is, and comes again through rescue.
func (r *Relay) publish(ctx context.Context, entries []rain.Entry) {
	for try := 0; len(entries) > 0 && try < publishTries; try++ {
		failed, err := r.publisher.publishAll(ctx, entries)
		if err == nil {
			r.jetstate.Works()
			faults.Point("relay.after_publish")
			return
		}
		r.failed(ctx, &r.jetstate, err)
		entries = failed
		if !rounds.Sleep(ctx, rounds.Backoff(50*time.Millisecond, 2*time.Second, try)) {
			return
		}
		// The stream may be what is missing.
		if _, err := r.publisher.stream.ensure(ctx); err != nil {
			r.failed(ctx, &r.jetstate, err)
		}
	}
}

// failed notes an error, unless it is the end.
func (r *Relay) failed(ctx context.Context, o *outage.Outage, err error) {
	if ctx.Err() == nil {
		o.Failed(err)
	}
}
