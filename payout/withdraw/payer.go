package withdraw

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/internal/faults"
	"redrain/internal/loop"
	"redrain/payout/ledger"
	"redrain/rain"
)

// PayerOptions are the settings of a Payer. The zero value is usable.
type PayerOptions struct {
	Attempts    int                                       // tries before a withdrawal becomes a dead letter; 0 = 10
	Concurrency int                                       // concurrent payments; 0 = 8
	Timeout     time.Duration                             // of one try; 0 = 10 s
	PollRate    float64                                   // questions a second about waiting payments; 0 = no limit
	OnAlarm     func(w ledger.Withdrawal, message string) // is called if an operator must act; nil = log only
	// OnNews is called after a withdrawal's new state (paid, refused, action required) is in the ledger, possibly
	// twice. It may be nil.
	OnNews     func(id string)
	Clock      rain.Clock            // Unix ms; nil = this machine's
	Recoverer  *loop.Recoverer       // nil: panics are logged only
	Log        *slog.Logger          // nil = slog.Default
	Registerer prometheus.Registerer // nil = no metrics
}

// part names the loops in metrics, alarms and the log.
const part = "withdrawals"

const (
	payGaugeEvery = 10 * time.Second // interval of the count of pending withdrawals
	payGrace      = 5 * time.Second  // for the current payments after Run's context has ended
	payPoll       = time.Second      // the payer looks for due withdrawals this often
	payFirst      = 2 * time.Second  // the pause after the first try, doubled after each
	payMost       = 15 * time.Minute // the longest pause; ten tries take about a quarter of an hour
	payMargin     = 10 * time.Second // the rest of a lease after the try: enough to record the result
	// payPatience is the longest delay that a provider may ask for.
	payPatience  = time.Hour
	waitFirst    = 5 * time.Second    // the first pause after the receiver has accepted the payment
	waitMost     = 5 * time.Minute    // the longest pause: a player who has confirmed looks for the money
	waitLongest  = 7 * 24 * time.Hour // the longest time for a receiver to report a payment as in flight
	orphansEvery = 10 * time.Second   // interval of the search for other receivers' withdrawals
	orphanLimit  = 100
)

// withdrawals is the part of the ledger that a Payer needs. [ledger.Withdrawals] implements it.
type withdrawals interface {
	LeaseDue(ctx context.Context, receiver string, limit int, lasting time.Duration) ([]ledger.Withdrawal, error)
	BuryOrphans(ctx context.Context, receiver string, limit int) ([]ledger.Withdrawal, error)
	RecordPaid(ctx context.Context, w ledger.Withdrawal, reference string) error
	RecordRefused(ctx context.Context, w ledger.Withdrawal, reason string) error
	RecordWaiting(ctx context.Context, w ledger.Withdrawal, is ledger.Waiting) error
	RecordRetry(ctx context.Context, w ledger.Withdrawal, after time.Duration, reason string) error
	RecordDead(ctx context.Context, w ledger.Withdrawal, reason string) error
	CountPending(ctx context.Context) (int64, error)
}

// Payer has withdrawals paid by a provider. The ledger is its queue: any number of Payers share it by leases. If one
// dies in the middle of a payment, another one asks again, under the same key.
type Payer struct {
	ledger   withdrawals
	provider Provider
	receiver string
	o        PayerOptions

	open    atomic.Int64 // withdrawals that have not ended, counted at intervals
	wake    loop.Wake
	slots   chan struct{} // one element for each payment in flight
	outcome *prometheus.CounterVec
	seconds prometheus.Histogram
	pending prometheus.Gauge

	outside loop.FailureLog
	books   loop.FailureLog
}

// NewPayer makes a payer. It does nothing before Run.
func NewPayer(ledger withdrawals, provider Provider, o PayerOptions) *Payer {
	o.Attempts = cmp.Or(o.Attempts, 10)
	o.Concurrency = cmp.Or(o.Concurrency, 8)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Clock == nil {
		o.Clock = func() int64 { return time.Now().UnixMilli() }
	}
	metrics := promauto.With(o.Registerer)
	p := &Payer{
		ledger: ledger, provider: provider, receiver: provider.Receiver().String(), o: o, wake: loop.NewWake(),
		slots: make(chan struct{}, o.Concurrency),
		outcome: metrics.NewCounterVec(prometheus.CounterOpts{
			Name: "redrain_withdrawals_total",
			Help: "Tries at withdrawals, by outcome: paid, refused (the money went back), action (the player must " +
				"confirm), waiting (the receiver has it), again (tried later), dead (waits for an operator).",
		}, []string{"outcome"}),
		seconds: metrics.NewHistogram(prometheus.HistogramOpts{
			Name: "redrain_provider_seconds", Help: "How long the payment provider takes to answer, time-outs " +
				"included.",
			Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}),
		pending: metrics.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_withdrawals_pending", Help: "Withdrawals that have not ended, dead letters among them.",
		}),
		outside: loop.FailureLog{Work: "pay withdrawals through the provider", Log: o.Log},
		books:   loop.FailureLog{Work: "record withdrawals", Log: o.Log},
	}
	for _, outcome := range []string{outcomePaid, outcomeRefused, outcomeAction, outcomeWaiting, outcomeAgain,
		outcomeDead} {
		p.outcome.WithLabelValues(outcome) // zeros from the start, not gaps
	}
	return p
}

// The outcomes of a try, as they are counted.
const (
	outcomePaid    = "paid"
	outcomeRefused = "refused"
	outcomeAction  = "action"
	outcomeWaiting = "waiting"
	outcomeAgain   = "again"
	outcomeDead    = "dead"
)

// Wake makes the payer look for due withdrawals at once. It does not block.
func (p *Payer) Wake() { p.wake.Signal() }

// Run pays until ctx ends. It returns nil after the current payments. No failure ends it.
func (p *Payer) Run(ctx context.Context) error {
	var payments sync.WaitGroup
	err := loop.Run(ctx,
		loop.Spec{Part: part, Work: "lease due withdrawals", Every: payPoll, Wake: p.wake, Recoverer: p.o.Recoverer,
			Log: p.o.Log, Do: func(ctx context.Context) error { return p.fill(ctx, &payments) }},
		loop.Spec{Part: part, Every: payGaugeEvery, Do: p.refreshGauge, Recoverer: p.o.Recoverer, Log: p.o.Log},
		loop.Spec{Part: part, Work: "end withdrawals of other receivers", Every: orphansEvery, Do: p.endOrphans,
			Recoverer: p.o.Recoverer, Log: p.o.Log})
	payments.Wait()
	return err
}

// fill begins as many payments as there are free slots. It leases only these.
func (p *Payer) fill(ctx context.Context, wg *sync.WaitGroup) error {
	room := cap(p.slots) - len(p.slots) // only this goroutine takes slots, so there can only be more
	if room == 0 {
		return nil
	}
	taken, err := p.ledger.LeaseDue(ctx, p.receiver, room, p.o.Timeout+payMargin)
	if err != nil {
		return err
	}
	leaseEnds := time.Now().Add(p.o.Timeout + payMargin)
	for _, w := range taken {
		p.slots <- struct{}{}
		wg.Go(func() {
			// after a panic it is due again when the lease ends
			p.o.Recoverer.Do(part, func() { p.try(ctx, w, leaseEnds) })
			<-p.slots
			p.Wake() // a slot is free for the next
		})
	}
	return nil
}

// try asks the provider once, and records the answer.
func (p *Payer) try(ctx context.Context, w ledger.Withdrawal, leaseEnds time.Time) {
	if wait := time.Duration(w.NotBefore-p.o.Clock()) * time.Millisecond; wait > 0 && !loop.Sleep(ctx, wait) {
		return // the provider was not asked; it is due again when the lease ends
	}
	faults.Point("withdraw.before_pay")
	answer, err := p.pay(ctx, w)
	faults.Point("withdraw.after_pay")
	// A context of its own: the answer must be recorded, even if the provider has used up the time of a shutdown.
	recording, cancel := loop.Graceful(ctx, payGrace)
	defer cancel()
	recording, cancelDeadline := context.WithDeadline(recording, leaseEnds)
	defer cancelDeadline()
	p.record(recording, w, p.classify(ctx, w, answer, err))
}

// pay calls the provider. A panic is an unclear answer like any other, so that the withdrawal becomes a dead letter
// in the end.
func (p *Payer) pay(ctx context.Context, w ledger.Withdrawal) (answer Answer, err error) {
	ctx, cancel := loop.Graceful(ctx, payGrace)
	defer cancel()
	ctx, cancelTimeout := context.WithTimeout(ctx, p.o.Timeout)
	defer cancelTimeout()
	began := time.Now()
	defer func() { p.seconds.Observe(time.Since(began).Seconds()) }()
	payment := Payment{Key: w.ID, User: w.User, Payee: w.Payee, Amount: w.Amount, CreatedAt: w.CreatedAt,
		Request: w.Request}
	err = p.o.Recoverer.Try(part, func() (err error) {
		if asker, can := p.provider.(Asker); can && w.AskedBefore {
			answer, err = asker.Ask(ctx, payment)
			if err != nil || answer.Status != Unknown && !answer.LacksAction(w.Action) {
				return err
			}
		}
		answer, err = p.provider.Pay(ctx, payment)
		return err
	})
	return answer, err
}

// record records an outcome while the lease lasts. If it cannot, the provider is asked again under the same key and
// gives the same answer.
func (p *Payer) record(ctx context.Context, w ledger.Withdrawal, v outcome) {
	for failed := 0; ; failed++ {
		err := v.write(ctx)
		switch {
		case err == nil:
			p.books.Works()
			p.outcome.WithLabelValues(v.name).Inc()
			p.report(w, v)
			return
		case errors.Is(err, ledger.ErrLeaseLost):
			p.o.Log.Info("another try at a withdrawal has taken over; its answer counts", "withdrawal", w.ID,
				"outcome", v.name)
			return
		case errors.Is(err, ledger.ErrPaidTwice):
			p.o.Log.Error("money was paid twice", "withdrawal", w.ID, "user", w.User, "amount", int64(w.Amount), "err",
				err)
			p.alarm(w, ledger.ErrPaidTwice.Error())
			return
		case errors.Is(err, ledger.ErrNotAsked):
			p.o.Log.Error("a payment by a receiver that was not asked", "withdrawal", w.ID, "err", err)
			p.alarm(w, ledger.ErrNotAsked.Error())
			return
		}
		p.books.Failed(err)
		if !loop.Sleep(ctx, loop.Backoff(100*time.Millisecond, 2*time.Second, failed)) {
			p.o.Log.Warn("record the provider's answer; it is asked again when the lease ends",
				"withdrawal", w.ID, "outcome", v.name, "err", err)
			return
		}
	}
}

// report logs a recorded outcome and calls the callbacks.
func (p *Payer) report(w ledger.Withdrawal, v outcome) {
	log := p.o.Log.With("withdrawal", w.ID, "user", w.User, "amount", int64(w.Amount), "attempts", w.Attempts,
		"request", w.Request)
	switch v.name {
	case outcomePaid:
		log.Debug("a withdrawal is paid")
	case outcomeRefused:
		log.Info("a withdrawal was refused: the money is back in the player's account", "reason", v.reason)
	case outcomeDead:
		log.Error("a withdrawal was given up: it is kept as a dead letter", "reason", v.reason)
		p.alarm(w, "a withdrawal waits for a person: "+v.reason)
	}
	news := v.name == outcomePaid || v.name == outcomeRefused || v.name == outcomeAction
	if news && p.o.OnNews != nil {
		p.o.OnNews(w.ID)
	}
}

func (p *Payer) alarm(w ledger.Withdrawal, message string) {
	if p.o.OnAlarm != nil {
		p.o.OnAlarm(w, message)
	}
}

func (p *Payer) refreshGauge(ctx context.Context) error {
	n, err := p.ledger.CountPending(ctx)
	if err == nil {
		p.open.Store(n)
		p.pending.Set(float64(n))
	}
	return err
}

// endOrphans makes dead letters of overdue withdrawals that were sent to another receiver.
func (p *Payer) endOrphans(ctx context.Context) error {
	buried, err := p.ledger.BuryOrphans(ctx, p.receiver, orphanLimit)
	for _, w := range buried {
		p.report(w, outcome{name: outcomeDead, reason: "was sent to " + w.Receiver + "; this server uses " +
			p.receiver + "; find out there whether it was paid"})
		p.outcome.WithLabelValues(outcomeDead).Inc()
	}
	return err
}
