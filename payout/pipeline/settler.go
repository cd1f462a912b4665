package pipeline

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"redrain/internal/outage"
	"redrain/internal/rounds"
	"redrain/payout/entrytext"
	"redrain/rain"
)

// SettlerOptions are the settings of a Settler. The zero value is usable.
type SettlerOptions struct {
	Namespace string // as in RelayOptions
	Workers   int    // batches posted at once; 0 = 4
	BatchWins int    // most wins in one transaction; 0 = 4000. An entry is never parted, so it may be more.
	// tries of an entry that the ledger refuses, and of a message over which this program breaks, before it becomes
	// dead letters; 0 = 10
	Attempts   int
	Restored   int64                 // when the ledger was put back from a backup, Unix ms: the stream is read again
	Clock      rain.Clock            // for redrain_settle_seconds; nil = this machine's
	Guard      *rounds.Guard         // catches a panic in a round; nil = it is only logged
	Log        *slog.Logger          // nil = slog.Default
	Registerer prometheus.Registerer // nil = no metrics
	Alarms
}

const (
	pullWait   = 2 * time.Second // for the first of them; also how long a pull may be lost with its server
	gaugeEvery = 10 * time.Second
)

// DeadLetters counts what waits for a person; [ledger.DeadLetters] does.
type DeadLetters interface {
	RefreshMetrics(ctx context.Context) error
}

// Settler takes entries from JetStream and settles them, batch by batch.
type Settler struct {
	stream     *stream
	letters    DeadLetters
	o          SettlerOptions
	settlement settlement
	jetstate   outage.Outage
}

// NewSettler makes a settler, which takes what seals says is sealed. Nothing happens before Run.
func NewSettler(js jetstream.JetStream, seals entrytext.Sealer, ledger Poster, letters DeadLetters, outbox Outbox,
	notify Notifier, o SettlerOptions) *Settler {
	if o.Clock == nil {
		o.Clock = func() int64 { return time.Now().UnixMilli() }
	}
	o.Workers = cmp.Or(o.Workers, 4)
	o.BatchWins = cmp.Or(o.BatchWins, mostWins)
	o.Attempts = cmp.Or(o.Attempts, 10)
	o.Log = cmp.Or(o.Log, slog.Default())
	made := newStream(js, o.Namespace, seals)
	made.restored = o.Restored
	return &Settler{
		stream: made, letters: letters, o: o,
		settlement: settlement{
			ledger: ledger, outbox: outbox, notify: notify, stream: made, attempts: o.Attempts, guard: o.Guard,
			log:    o.Log,
			report: newReport(o.Alarms, o.Clock, o.Log, o.Registerer),
			money:  outage.Outage{What: "posting to the ledger", Log: o.Log},
			redis:  outage.Outage{What: "removing settled entries from the outboxes", Log: o.Log},
		},
		jetstate: outage.Outage{What: "pulling from JetStream", Log: o.Log},
	}
}

// Run settles until ctx ends, and returns nil when the batches in hand are done. Nothing that fails ends it.
func (s *Settler) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for range s.o.Workers {
		wg.Go(func() { s.work(ctx) })
	}
	wg.Go(func() { s.o.Guard.Every(ctx, partName, gaugeEvery, s.refreshGauge) })
	for kind := range advisorySubjects {
		wg.Go(func() {
			s.stream.advisories(ctx, kind, s.o.Log, func(a Advisory) {
				s.o.Guard.Do(partName, func() { s.settlement.report.lost(a) })
			})
		})
	}
	wg.Wait()
	// Acknowledgements still in the client's buffer would be lost with the connection, and the batch delivered again.
	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = s.stream.js.Conn().FlushWithContext(flush)
	return nil
}

// work pulls and settles, batch by batch.
func (s *Settler) work(ctx context.Context) {
	size := newBatchSizer(s.o.BatchWins)
	p := newFetchSizer(size.wins)
	for failed := 0; ctx.Err() == nil; {
		ok := false
		s.o.Guard.Do(partName, func() { ok = s.round(ctx, p, size) })
		if ok {
			failed = 0
			continue
		}
		if !rounds.Sleep(ctx, rounds.Backoff(100*time.Millisecond, 2*time.Second, failed)) {
			return
		}
		failed++
	}
}

// round does one pull. It tells whether all went well.
func (s *Settler) round(ctx context.Context, p *fetchSizer, size *batchSizer) bool {
	p.batch = size.wins
	messages, err := s.pull(ctx, p.messages())
	if err != nil {
		if ctx.Err() == nil {
			s.jetstate.Failed(err)
			s.stream.forget()
		}
		return false
	}
	s.jetstate.Works()
	ok := true
	ended := s.o.Guard.Do(partName, func() {
		for _, group := range share(s.groups(ctx, messages, p)) {
			if ctx.Err() != nil {
				giveBack(0, group...)
				continue
			}
			wins, began := 0, time.Now()
			for i := range group {
				wins += len(group[i].entry.Wins)
			}
			settled := s.settlement.settle(ctx, group)
			size.settled(wins, time.Since(began), settled)
			ok = settled && ok
		}
	})
	if !ended {
		for _, m := range messages {
			s.settlement.retry(delivery{msg: m}) // those that are answered stay so
		}
	}
	return ok && ended
}

// pull waits for a message and takes what else is there, up to most.
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
		return messages, nil // the next pull will say so too
	}
	for m := range rest.Messages() {
		messages = append(messages, m)
	}
	return messages, nil
}

// share returns what a worker keeps of its batches, and gives the rest back for others at once. There is a rest
// only where a storm follows a lull: the messages of the lull held little, and so the worker has asked for far more
// than it can settle while they wait.
func share(groups [][]delivery) [][]delivery {
	kept := min(len(groups), mostBatches)
	for _, group := range groups[kept:] {
		giveBack(0, group...)
	}
	return groups[:kept]
}

// groups decodes messages and parts them in batches. What is no entry is put aside for a person.
func (s *Settler) groups(ctx context.Context, messages []jetstream.Msg, p *fetchSizer) [][]delivery {
	var groups [][]delivery
	var group []delivery
	wins := 0
	for _, d := range s.readable(ctx, messages) {
		n := len(d.entry.Wins)
		if len(group) > 0 && wins+n > p.batch {
			groups, group, wins = append(groups, group), nil, 0
		}
		p.held(n)
		group = append(group, d)
		wins += n
	}
	if len(group) > 0 {
		groups = append(groups, group)
	}
	return groups
}

// readable decodes messages, and deals with those that are no entry. Where a seal is wrong, another node may have
// sealed with a key that is not known here yet: the keys are read again, once for all of them.
func (s *Settler) readable(ctx context.Context, messages []jetstream.Msg) (entries []delivery) {
	var doubtful []delivery
	for _, m := range messages {
		d := delivery{msg: m}
		switch err := s.decode(&d); {
		case err == nil:
			entries = append(entries, d)
		case errors.Is(err, entrytext.ErrSeal):
			doubtful = append(doubtful, d)
		default:
			s.settlement.unreadable(ctx, d, err)
		}
	}
	if len(doubtful) == 0 {
		return entries
	}
	if err := s.settlement.ledger.RefreshSeals(ctx); err != nil {
		s.settlement.failed(&s.settlement.money, err, doubtful...)
		return entries
	}
	for _, d := range doubtful {
		if err := s.decode(&d); err != nil {
			s.settlement.unreadable(ctx, d, err)
		} else {
			entries = append(entries, d)
		}
	}
	return entries
}

// decode reads the entry in a message. A panic is an error.
func (s *Settler) decode(d *delivery) error {
	return s.o.Guard.Try(partName, func() (err error) {
		d.entry, err = s.stream.decode(d.msg)
		return err
	})
}

// refreshGauge counts the dead letters.
func (s *Settler) refreshGauge(ctx context.Context) {
	if err := s.letters.RefreshMetrics(ctx); err != nil && ctx.Err() == nil {
		s.o.Log.Debug("dead letters cannot be counted", "err", err)
	}
}
