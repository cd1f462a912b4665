package pipeline

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/internal/faults"
	"redrain/internal/loop"
	"redrain/rain"
)

const (
	// waitingEntries and waitingBytes bound a node's queue of own entries while JetStream is unreachable. The relay
	// publishes entries beyond them.
	waitingEntries = 1 << 15
	waitingBytes   = 64 << 20
	decidersGrace  = 2 * time.Second // to publish the rest of the queue after Run's context has ended
	decidersAtOnce = 4               // batches in flight
)

// DecidersOptions are the settings of Deciders. The zero value is usable.
type DecidersOptions struct {
	Recoverer  *loop.Recoverer       // nil: panics are logged only
	Log        *slog.Logger          // nil = slog.Default
	Registerer prometheus.Registerer // nil = no metrics
}

// Deciders is the direct publisher: it publishes the entries that this node decided. It takes them from memory and
// not from Redis, so edits in Redis change none of the results that players have seen.
//
// If the node dies or the queue is full, the relay finds the entry in the outbox.
type Deciders struct {
	publisher    *Publisher
	o            DecidersOptions
	queue        chan message
	bytes        atomic.Int64 // in the queue
	left         prometheus.Counter
	jetStreamLog loop.FailureLog
}

// NewDeciders makes Deciders. It publishes nothing before Run.
func NewDeciders(publisher *Publisher, o DecidersOptions) *Deciders {
	o.Log = cmp.Or(o.Log, slog.Default())
	d := &Deciders{
		publisher: publisher, o: o, queue: make(chan message, waitingEntries),
		left: promauto.With(o.Registerer).NewCounter(prometheus.CounterOpts{
			Name: "redrain_publish_left_total", Help: "Entries that this node has decided and left to the relay, " +
				"because too many waited for JetStream.",
		}),
		jetStreamLog: loop.FailureLog{Work: "publish this node's entries", Log: o.Log},
	}
	return d
}

// Publish queues an entry that this node decided. It never blocks.
func (d *Deciders) Publish(e *rain.Entry) {
	if d.bytes.Load() >= waitingBytes {
		d.left.Inc()
		return
	}
	m := d.publisher.message(*e)
	d.bytes.Add(int64(len(m.data)))
	select {
	case d.queue <- m:
	default:
		d.bytes.Add(-int64(len(m.data)))
		d.left.Inc()
	}
}

// Run publishes until ctx ends, and then for at most decidersGrace the rest of the queue. It returns nil.
func (d *Deciders) Run(ctx context.Context) error {
	_, _ = d.publisher.stream.ensure(ctx) // so that the first win finds the stream; a failure shows when publishing
	working, cancel := loop.Graceful(ctx, decidersGrace)
	defer cancel()
	var wg sync.WaitGroup
	for range decidersAtOnce {
		wg.Go(func() {
			for {
				batch := d.next(ctx)
				if len(batch) == 0 {
					return
				}
				d.o.Recoverer.Do("deciders", func() { d.publish(working, batch) })
			}
		})
	}
	wg.Wait()
	return nil
}

// next waits for entries and takes all in the queue. It returns nil if ctx has ended and the queue is empty.
func (d *Deciders) next(ctx context.Context) (batch []message) {
	var first message
	select {
	case first = <-d.queue:
	default:
		select {
		case first = <-d.queue:
		case <-ctx.Done():
			return nil
		}
	}
	for m := first; ; {
		batch = append(batch, m)
		d.bytes.Add(-int64(len(m.data)))
		if len(batch) == publishAtOnce {
			return batch
		}
		select {
		case m = <-d.queue:
		default:
			return batch
		}
	}
}

// publish publishes messages. It retries until ctx ends.
func (d *Deciders) publish(ctx context.Context, messages []message) {
	faults.Point("deciders.before_publish")
	for try := 0; ; try++ {
		failed, err := d.publisher.publishAll(ctx, messages)
		if err == nil {
			faults.Point("deciders.after_publish")
			d.jetStreamLog.Works()
			return
		}
		if ctx.Err() != nil {
			return
		}
		d.jetStreamLog.Failed(err)
		messages = failed
		if !loop.Sleep(ctx, loop.Backoff(50*time.Millisecond, 2*time.Second, try)) {
			return
		}
		// the stream may be missing; any other failure shows at the next try
		_, _ = d.publisher.stream.ensure(ctx)
	}
}
