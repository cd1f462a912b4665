package pipeline

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"redrain/internal/loop"
	"redrain/payout"
	"redrain/rain"
)

// SettlerOptions are the settings of a Settler. The zero value is usable.
type SettlerOptions struct {
	Namespace string // as in NewPublisher
	Workers   int    // batches posted at once; 0 = 4
	BatchWins int    // target of wins in one transaction; 0 = 4000. An entry is never split, so it may be exceeded.
	// tries before an entry that the ledger refuses, or a message that makes this program panic, becomes dead letters;
	// 0 = 10. For such a message every delivery counts, also one without a try.
	Attempts int
	// Wait: a win is posted no earlier than this age. A verdict before then applies. Wait and postDeadline together
	// are at most ackWait.
	Wait       time.Duration
	Restored   int64                 // when the ledger was restored from a backup, Unix ms: the stream is read again
	Clock      rain.Clock            // for Wait and redrain_settle_seconds; nil = this machine's
	Recoverer  *loop.Recoverer       // nil: panics are logged only
	Log        *slog.Logger          // nil = slog.Default
	Registerer prometheus.Registerer // nil = no metrics
	Alarms
}

const (
	pullWait   = 2 * time.Second // the longest wait for the first message of a pull
	gaugeEvery = 10 * time.Second
)

// DeadLetters counts the open dead letters; [ledger.DeadLetters] implements it.
type DeadLetters interface {
	RefreshMetrics(ctx context.Context) error
}

// Settler takes entries from JetStream and settles them in batches.
type Settler struct {
	stream       *stream
	letters      DeadLetters
	o            SettlerOptions
	worker       worker
	jetStreamLog loop.FailureLog
}

// NewSettler makes a settler, which accepts messages that seals verifies. It does nothing before Run.
func NewSettler(js jetstream.JetStream, seals payout.Sealer, ledger Poster, letters DeadLetters, outbox Outbox,
	notify Notifier, o SettlerOptions) *Settler {
	if o.Clock == nil {
		o.Clock = func() int64 { return time.Now().UnixMilli() }
	}
	o.Workers = cmp.Or(o.Workers, 4)
	o.BatchWins = cmp.Or(o.BatchWins, mostWins)
	o.Attempts = cmp.Or(o.Attempts, 10)
	o.Log = cmp.Or(o.Log, slog.Default())
	made := newStream(js, o.Namespace, seals)
	made.restoredAt = o.Restored
	return &Settler{
		stream: made, letters: letters, o: o,
		worker: worker{
			ledger: ledger, outbox: outbox, notify: notify, stream: made, attempts: o.Attempts, recoverer: o.Recoverer,
			log:    o.Log,
			report: newReport(o.Alarms, o.Clock, o.Log, o.Registerer),
			money:  loop.FailureLog{Work: "post to the ledger", Log: o.Log},
			redis:  loop.FailureLog{Work: "remove settled entries from the outboxes", Log: o.Log},
		},
		jetStreamLog: loop.FailureLog{Work: "pull from JetStream", Log: o.Log},
	}
}

// Run settles until ctx ends. It returns nil after the current batches. No failure ends it.
func (s *Settler) Run(ctx context.Context) error {
	var rounds []loop.Spec
	size := newBatchSizer(s.o.BatchWins)
	fetch := newFetchSizer(size.now())
	for range s.o.Workers {
		rounds = append(rounds, loop.Spec{Part: partName, Retry: 100 * time.Millisecond, RetryMost: 2 * time.Second,
			Do: func(ctx context.Context) error {
				if !s.round(ctx, fetch, size) {
					return errUnsettled
				}
				return nil
			}, Recoverer: s.o.Recoverer, Log: s.o.Log})
	}
	rounds = append(rounds, loop.Spec{Part: partName, Every: gaugeEvery, Do: loop.Plain(s.refreshGauge),
		Recoverer: s.o.Recoverer, Log: s.o.Log})
	err := loop.Run(ctx, rounds...)
	// The connection would lose acknowledgements in the client's buffer, and their messages would come again.
	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = s.stream.js.Conn().FlushWithContext(flush)
	return err
}

// errUnsettled ends a round with failures, which are logged already.
var errUnsettled = errors.New("some messages are not settled")

// round does one pull. It returns false if it or a batch failed. Refused, unreadable or nacked messages do not count.
func (s *Settler) round(ctx context.Context, fetch *fetchSizer, size *batchSizer) bool {
	messages, err := s.pull(ctx, fetch.messages(size.now()))
	if err != nil {
		if ctx.Err() == nil {
			s.jetStreamLog.Failed(err)
			s.stream.forget()
		}
		return false
	}
	s.jetStreamLog.Works()
	ok := true
	ended := s.o.Recoverer.Do(partName, func() {
		rest := s.readable(ctx, messages, mostBatches*size.now(), fetch)
		for len(rest) > 0 {
			if ctx.Err() != nil {
				nack(0, rest...)
				return
			}
			wanted := size.now() // another worker may have measured the ledger meanwhile
			together, wait := ripening(rest, s.o.Clock(), s.o.Wait)
			n, wins := batchOf(together, wanted)
			if wait > 0 && !loop.Sleep(ctx, wait) {
				nack(0, rest...)
				return
			}
			began := time.Now()
			settled := s.worker.settleWithin(ctx, rest[:n])
			size.settled(wanted, wins, time.Since(began), settled)
			ok, rest = settled && ok, rest[n:]
		}
	})
	if !ended {
		for _, m := range messages {
			s.worker.retry(delivery{msg: m}) // acknowledged messages stay so
		}
	}
	return ok && ended
}

// reclaimWins is the weight of a reclaim in a batch, by its number of statements.
const reclaimWins = 10

// batchOf returns how many of the entries, at least one, make a batch of up to most wins, and their number of wins.
// A reclaim counts as reclaimWins wins.
func batchOf(of []delivery, most int) (n, wins int) {
	for ; n < len(of); n++ {
		more := len(of[n].entry.Wins)
		if of[n].entry.Reclaim != nil {
			more += reclaimWins
		}
		if n > 0 && wins+more > most {
			break
		}
		wins += more
	}
	return n, wins
}

// pull waits for a message and takes all available ones, up to most.
func (s *Settler) pull(ctx context.Context, most int) ([]jetstream.Msg, error) {
	consumer, err := s.stream.puller(ctx)
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, pullWait)
	defer cancel()
	first, err := consumer.Next(jetstream.FetchContext(waiting))
	switch {
	case errors.Is(err, nats.ErrTimeout), errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return nil, nil
	case err != nil:
		return nil, err
	}
	messages := []jetstream.Msg{first}
	if most < 2 {
		return messages, nil
	}
	rest, err := consumer.FetchNoWait(most - 1)
	if err != nil {
		return messages, nil // the next pull reports it, too
	}
	for m := range rest.Messages() {
		messages = append(messages, m)
	}
	return messages, nil
}

// readable decodes messages and handles invalid ones. It nacks messages beyond most wins at once, so that other
// workers get them. Such messages exist when a storm follows a lull: the messages of the lull held few wins, so the
// worker has asked for too many.
//
// If a seal is invalid, another node may have used a key that this node has not loaded yet. The keys are loaded
// again, once for all messages.
func (s *Settler) readable(ctx context.Context, messages []jetstream.Msg, most int,
	fetch *fetchSizer) (entries []delivery) {
	refresh := sync.OnceValue(func() error { return s.worker.ledger.RefreshSeals(ctx) })
	wins := 0
	for _, m := range messages {
		d := delivery{msg: m}
		if m.Subject() == s.stream.probes() || isEpoch(m.Subject()) {
			_ = m.Ack() // claims has an epoch
			continue
		}
		if wins >= most {
			nack(0, d)
			continue
		}
		err := s.decode(&d)
		if errors.Is(err, payout.ErrSeal) {
			if failed := refresh(); failed != nil {
				s.worker.failed(&s.worker.money, failed, d)
				continue
			}
			err = s.decode(&d)
		}
		if err != nil {
			s.worker.unreadable(ctx, d, err)
			continue
		}
		entries = append(entries, d)
		wins += len(d.entry.Wins)
		fetch.held(len(d.entry.Wins))
	}
	return s.current(ctx, entries)
}

// current returns the entries that count. An entry behind the claim of a newer epoch of its shard does not count. No
// player was notified of its wins, and its packets may belong to others. It stays in its outbox. If the new master has
// its wins, they are published again under the new epoch.
func (s *Settler) current(ctx context.Context, entries []delivery) []delivery {
	if !slices.ContainsFunc(entries, func(d delivery) bool { return d.entry.Epoch > 0 }) {
		return entries
	}
	if err := s.stream.claims.refresh(ctx, s.stream); err != nil {
		s.worker.failed(&s.jetStreamLog, err, entries...)
		return nil
	}
	return slices.DeleteFunc(entries, func(d delivery) bool {
		meta, err := d.msg.Metadata()
		e := &d.entry
		if err != nil || !s.stream.claims.isOver(e.Ref.Campaign, e.Ref.Shard, e.Epoch, meta.Sequence.Stream) {
			return false
		}
		s.o.Log.Info("an entry of an old epoch is dropped; no player was notified of its wins", "entry",
			e.Ref.String(), "epoch", e.Epoch)
		_ = d.msg.Ack() // if the connection loses it, the message comes again
		return true
	})
}

// decode reads the entry in a message. It returns a panic as an error.
func (s *Settler) decode(d *delivery) error {
	return s.o.Recoverer.Try(partName, func() (err error) {
		d.entry, err = s.stream.decode(d.msg)
		return err
	})
}

// refreshGauge counts the dead letters.
func (s *Settler) refreshGauge(ctx context.Context) {
	if err := s.letters.RefreshMetrics(ctx); err != nil && ctx.Err() == nil {
		s.o.Log.Debug("count the dead letters", "err", err)
	}
}
