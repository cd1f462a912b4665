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
	// waitingEntries and waitingBytes bound what one node keeps of its own entries while JetStream is away. What is
	// beyond is left to the relay.
	waitingEntries = 1 << 15
	waitingBytes   = 64 << 20
	decidersGrace  = 2 * time.Second // for what waits when Run is to end
	decidersAtOnce = 4               // batches on their way at a time
)

// DecidersOptions are the settings of Deciders. The zero value is usable.
type DecidersOptions struct {
	Recoverer  *loop.Recoverer       // nil: panics are logged only
	Log        *slog.Logger          // nil = slog.Default
	Registerer prometheus.Registerer // nil = no metrics
}

// Deciders publishes the entries that this node has decided, as it has decided them. They come from its memory and not
// from Redis, so whoever alters or deletes them there changes nothing of what the players were told.
//
// What does not get into the stream in this way, because the node dies or too much waits, the relay finds in the
// outbox.
type Deciders struct {
	publisher *Publisher
	o         DecidersOptions
	queue     chan message
	bytes     atomic.Int64 // of what is in the queue
	left      prometheus.Counter
	jetstate  loop.FailureLog
}

// NewDeciders makes Deciders. Nothing leaves before Run.
func NewDeciders(publisher *Publisher, o DecidersOptions) *Deciders {
	o.Log = cmp.Or(o.Log, slog.Default())
	d := &Deciders{
		publisher: publisher, o: o, queue: make(chan message, waitingEntries),
		left: promauto.With(o.Registerer).NewCounter(prometheus.CounterOpts{
			Name: "redrain_publish_left_total", Help: "Entries that this node has decided and left to the relay, " +
				"because too many waited for JetStream.",
		}),
		jetstate: loop.FailureLog{Work: "publishing what this node has decided", Log: o.Log},
	}
	return d
}

// Publish has an entry published that this node has decided. It never blocks.
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

// Run publishes until ctx ends, and for a little while what waits then. It returns nil.
func (d *Deciders) Run(ctx context.Context) error {
	_, _ = d.publisher.stream.ensure(ctx) // so that the first win finds it; where this fails, publishing says so
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

// next waits for entries and takes what is there; nothing where ctx has ended and nothing waits.
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

// publish publishes messages, and tries until ctx ends.
func (d *Deciders) publish(ctx context.Context, messages []message) {
	faults.Point("deciders.before_publish")
	for try := 0; ; try++ {
		failed, err := d.publisher.publishAll(ctx, messages)
		if err == nil {
			faults.Point("deciders.after_publish")
			d.jetstate.Works()
			return
		}
		if ctx.Err() != nil {
			return
		}
		d.jetstate.Failed(err)
		messages = failed
		if !loop.Sleep(ctx, loop.Backoff(50*time.Millisecond, 2*time.Second, try)) {
			return
		}
		// the stream may be what is missing; where it is not, the next try says so
		_, _ = d.publisher.stream.ensure(ctx)
	}
}
