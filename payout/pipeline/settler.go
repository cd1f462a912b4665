package pipeline

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"redrain/internal/faults"
	"redrain/internal/outage"
	"redrain/internal/rounds"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// SettlerOptions are the settings of a Settler. The zero value is usable.
type SettlerOptions struct {
	Namespace string // as in RelayOptions
	Workers   int    // batches posted at once; 0 = 4
	BatchWins int    // wins in one transaction; 0 = 500. An entry is never parted, so it may be more.
	// tries of an entry that the ledger refuses, before it becomes dead letters; 0 = 10
	Attempts   int
	Clock      rain.Clock                 // for redrain_settle_seconds; nil = this machine's
	OnDead     func([]posting.DeadLetter) // hears of new dead letters; nil = they are only logged
	OnVoid     func([]posting.DeadLetter) // hears of what came too late, see Posted.Void; nil = it is only logged
	OnCut      func([]posting.ReclaimCut) // hears of reclaims that got less than asked for; nil = it is only logged
	OnAdvisory func(Advisory)             // hears of messages that JetStream has given up; nil = they are only logged
	Guard      *rounds.Guard              // catches a panic in a round; nil = it is only logged
	Log        *slog.Logger               // nil = slog.Default
	Registerer prometheus.Registerer      // nil = no metrics
}

const (
	pullWait     = 2 * time.Second  // for the first of them; also how long a pull may be lost with its server
	postGrace    = 5 * time.Second  // for the batch in hand when Run is to end
	postDeadline = 25 * time.Second // below ackWait: after it others may have the same messages
	gaugeEvery   = 10 * time.Second
)

// Poster brings entries into the ledger; [posting.Poster] is one.
type Poster interface {
	Post(ctx context.Context, entries []rain.Entry) (posting.Posted, error)
	Attempt(ctx context.Context, e rain.Entry, cause error, limit int) (posting.Attempted, error)
	ForgetAttempts(ctx context.Context, refs []rain.EntryRef) error
	BuryMessage(ctx context.Context, name string, payload []byte, reason string) error
}

// DeadLetters counts what waits for a person; [ledger.DeadLetters] does.
type DeadLetters interface {
	RefreshMetrics(ctx context.Context) error
}

// Settler takes entries from JetStream, posts them, tells the players, and only then removes them from their outbox.
type Settler struct {
	ledger  Poster
	letters DeadLetters
	outbox  Outbox
	notify  Notifier
	stream  *stream
	o       SettlerOptions

	settled  prometheus.Counter
	seconds  prometheus.Histogram
	failures prometheus.Counter

	jetstate outage.Outage
	money    outage.Outage
	redis    outage.Outage
}

// NewSettler makes a settler. Nothing happens before Run.
func NewSettler(js jetstream.JetStream, ledger Poster, letters DeadLetters, outbox Outbox, notify Notifier,
	o SettlerOptions) (*Settler, error) {
	if o.Clock == nil {
		o.Clock = func() int64 { return time.Now().UnixMilli() }
	}
	if o.Workers <= 0 {
		o.Workers = 4
	}
	if o.BatchWins <= 0 {
		o.BatchWins = 500
	}
	if o.Attempts <= 0 {
		o.Attempts = 10
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	s := &Settler{
		ledger: ledger, letters: letters, outbox: outbox, notify: notify, stream: newStream(js, o.Namespace), o: o,
		settled: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "redrain_settled_total", Help: "Claims posted to the ledger.",
		}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "redrain_settle_seconds", Help: "From the win to its commit in the ledger.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800},
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "redrain_payout_failures_total", Help: "Stream messages that could not be settled at a try, and " +
				"are tried again.",
		}),
		jetstate: outage.Outage{What: "pulling from JetStream", Log: o.Log},
		money:    outage.Outage{What: "posting to the ledger", Log: o.Log},
		redis:    outage.Outage{What: "removing settled entries from the outboxes", Log: o.Log},
	}
	return s, register(o.Registerer, s.settled, s.seconds, s.failures)
}

// Run settles until ctx ends, and returns nil when the batches in hand are done. Nothing that fails ends it.
func (s *Settler) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for range s.o.Workers {
		wg.Go(func() { s.work(ctx) })
	}
	wg.Go(func() { s.o.Guard.Every(ctx, "settlement", gaugeEvery, s.refreshGauge) })
	for kind := range advisorySubjects {
		wg.Go(func() { s.listen(ctx, kind) })
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
	p := newFetchSizer(s.o.BatchWins)
	for failed := 0; ctx.Err() == nil; {
		ok := false
		s.o.Guard.Do("settlement", func() { ok = s.round(ctx, p) })
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
func (s *Settler) round(ctx context.Context, p *fetchSizer) bool {
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
	for _, group := range s.share(s.groups(ctx, messages, p)) {
		if ctx.Err() != nil {
			s.giveBack(group, 0)
			continue
		}
		settled := false
		if !s.o.Guard.Do("settlement", func() { settled = s.settle(ctx, group) }) {
			s.giveBackLater(group) // the batches after it are not held up
		}
		ok = settled && ok
	}
	return ok
}

// delivery is one message and the entry in it.
type delivery struct {
	msg   jetstream.Msg
	entry rain.Entry
}

// deliveries is how often the message has been delivered, this time included.
func (d delivery) deliveries() int {
	meta, err := d.msg.Metadata()
	if err != nil {
		return 1
	}
	return int(max(1, min(meta.NumDelivered, 30)))
}

// bury keeps a message that nobody can settle, and takes it out of the stream's sight.
func (s *Settler) bury(ctx context.Context, m jetstream.Msg, reason string) {
	ctx, cancel := rounds.Graceful(ctx, postGrace)
	defer cancel()
	name := "message-" + booking.Digest(bytes.Join([][]byte{[]byte(m.Subject()), m.Data()}, []byte{0}))
	if err := s.ledger.BuryMessage(ctx, name, m.Data(), reason); err != nil {
		s.failed([]delivery{{msg: m}}, &s.money, err)
		return
	}
	s.o.Log.Error("a message in the payout stream is no outbox entry; it is kept as a dead letter", "name", name,
		"subject", m.Subject(), "reason", reason)
	if s.o.OnDead != nil {
		s.o.OnDead([]posting.DeadLetter{{Claim: name, Source: name, Kind: posting.LetterMessage, Shard: -1, Packet: -1,
			Reason: reason}})
	}
	_ = m.TermWithReason("no outbox entry") // lost with the connection at worst: then it comes again
}

// settle posts a batch and does what follows. It tells whether the back ends worked.
func (s *Settler) settle(ctx context.Context, group []delivery) bool {
	ctx, cancel := rounds.Graceful(ctx, postGrace)
	defer cancel()
	ctx, cancelDeadline := context.WithTimeout(ctx, postDeadline)
	defer cancelDeadline()
	return s.post(ctx, group)
}

func (s *Settler) post(ctx context.Context, group []delivery) bool {
	entries := make([]rain.Entry, len(group))
	for i, d := range group {
		entries[i] = d.entry
	}
	posted, err := s.ledger.Post(ctx, entries)
	if err != nil {
		return s.notPosted(ctx, group, err)
	}
	faults.Point("settle.after_commit")
	s.money.Works()
	s.observe(posted)
	s.forgetAttempts(ctx, group)
	if len(posted.Settled) > 0 {
		s.notify.Settled(ctx, posted.Settled)
	}
	return s.finish(ctx, group)
}

// finish takes a batch, of which the ledger has everything, out of the outboxes and then out of the stream.
func (s *Settler) finish(ctx context.Context, group []delivery) bool {
	refs := make([]rain.EntryRef, len(group))
	for i, d := range group {
		refs[i] = d.entry.Ref
	}
	faults.Point("settle.before_remove")
	if err := s.outbox.Remove(ctx, refs); err != nil {
		s.failed(group, &s.redis, err)
		return false
	}
	s.redis.Works()
	faults.Point("settle.before_ack")
	for _, d := range group {
		_ = d.msg.Ack() // lost with the connection at worst: then it comes again, and is found to be posted
	}
	return true
}

// retryDelay is how long a message waits before its next delivery. tries is how often it has been tried, from 1.
func retryDelay(tries int) time.Duration {
	return rounds.Backoff(500*time.Millisecond, 15*time.Second, tries-1)
}

// failed gives messages back to be delivered again, later each time.
func (s *Settler) failed(group []delivery, o *outage.Outage, err error) {
	o.Failed(err)
	s.giveBackLater(group)
}

// giveBackLater counts messages as failed, and returns each for another try, later each time.
func (s *Settler) giveBackLater(group []delivery) {
	s.failures.Add(float64(len(group)))
	for _, d := range group {
		s.giveBack([]delivery{d}, retryDelay(d.deliveries()))
	}
}

// giveBack returns messages for another try after a while. If that is lost with the connection, they come again by
// themselves.
func (s *Settler) giveBack(group []delivery, after time.Duration) {
	for _, d := range group {
		if after == 0 {
			_ = d.msg.Nak()
		} else {
			_ = d.msg.NakWithDelay(after)
		}
	}
}

// refreshGauge counts the dead letters.
func (s *Settler) refreshGauge(ctx context.Context) {
	if err := s.letters.RefreshMetrics(ctx); err != nil && ctx.Err() == nil {
		s.o.Log.Debug("dead letters cannot be counted", "err", err)
	}
}
