package withdraw

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
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
	Concurrency int                                       // payments that are asked for at once; 0 = 8
	Timeout     time.Duration                             // of one try; 0 = 10 s
	OnAlarm     func(w ledger.Withdrawal, message string) // hears of what needs a person; nil = it is only logged
	// hears of each withdrawal that is paid, refused, or waits for its player, once that stands in the ledger, perhaps
	// twice; nil = nobody does
	OnNews     func(id string)
	Clock      rain.Clock            // Unix ms; nil = this machine's
	Recoverer  *loop.Recoverer       // nil: panics are logged only
	Log        *slog.Logger          // nil = slog.Default
	Registerer prometheus.Registerer // nil = no metrics
}

// part names the loops in metrics, alarms and the log.
const part = "withdrawals"

const (
	payGaugeEvery = 10 * time.Second // how often the waiting withdrawals are counted
	payGrace      = 5 * time.Second  // for the payments in hand when Run is to end
	payPoll       = time.Second      // how soon another node's withdrawals, and those that were put off, are seen
	payFirst      = 2 * time.Second  // the pause after the first try, doubled after each
	payMost       = 15 * time.Minute // and the longest; ten tries take about a quarter of an hour
	payMargin     = 10 * time.Second // what a lease lasts beyond the try: long enough to write down how it has ended
	// payPatience is the longest that a provider may put off a payment; one that says next year is asked before.
	payPatience = time.Hour
	waitFirst   = 5 * time.Second    // the first pause where the receiver has the payment and is not done
	waitMost    = 5 * time.Minute    // and the longest: a player who has confirmed looks for the money
	waitLongest = 7 * 24 * time.Hour // for so long a receiver may say that a payment is on its way
	strayEvery  = 10 * time.Second   // how often withdrawals of other receivers are looked for
	strayLimit  = 100
)

// withdrawals is what a Payer needs of a Ledger.
type withdrawals interface {
	LeaseDue(ctx context.Context, receiver string, limit int, lasting time.Duration) ([]ledger.Withdrawal, error)
	BuryStrays(ctx context.Context, receiver string, limit int) ([]ledger.Withdrawal, error)
	RecordPaid(ctx context.Context, w ledger.Withdrawal, reference string) error
	RecordRefused(ctx context.Context, w ledger.Withdrawal, reason string) error
	RecordWaiting(ctx context.Context, w ledger.Withdrawal, is ledger.Waiting) error
	RecordRetry(ctx context.Context, w ledger.Withdrawal, after time.Duration, reason string) error
	RecordDead(ctx context.Context, w ledger.Withdrawal, reason string) error
	CountPending(ctx context.Context) (int64, error)
}

// Payer has withdrawals paid by a provider. The ledger is its queue: any number of Payers share it by leases, and
// one that dies in the middle of a payment leaves it to be asked for again, under the same key.
type Payer struct {
	ledger   withdrawals
	provider Provider
	receiver string
	o        PayerOptions

	wake    loop.Wake
	slots   chan struct{} // one element for each payment under way
	outcome *prometheus.CounterVec
	seconds prometheus.Histogram
	pending prometheus.Gauge

	outside loop.FailureLog
	books   loop.FailureLog
}

// NewPayer makes a payer. Nothing happens before Run.
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
		outside: loop.FailureLog{Work: "paying withdrawals through the provider", Log: o.Log},
		books:   loop.FailureLog{Work: "reading and recording withdrawals", Log: o.Log},
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

// Wake has the payer look at once for what is due. It does not block.
func (p *Payer) Wake() { p.wake.Signal() }

// Run pays until ctx ends, and returns nil when the payments in hand have come to an end. Nothing that fails ends it.
func (p *Payer) Run(ctx context.Context) error {
	var payments sync.WaitGroup
	err := loop.Run(ctx,
		loop.Spec{Part: part, Every: payPoll, Wake: p.wake, Recoverer: p.o.Recoverer, Log: p.o.Log,
			Do: loop.Plain(func(ctx context.Context) { p.fill(ctx, &payments) })},
		loop.Spec{Part: part, Every: payGaugeEvery, Do: loop.Plain(p.refreshGauge), Recoverer: p.o.Recoverer,
			Log: p.o.Log},
		loop.Spec{Part: part, Every: strayEvery, Do: loop.Plain(p.buryStrays), Recoverer: p.o.Recoverer, Log: p.o.Log})
	payments.Wait()
	return err
}

// fill begins as many payments as there is room for. Only what begins at once is leased.
func (p *Payer) fill(ctx context.Context, wg *sync.WaitGroup) {
	room := cap(p.slots) - len(p.slots) // only this goroutine takes slots, so it can only be more
	if room == 0 {
		return
	}
	taken, err := p.ledger.LeaseDue(ctx, p.receiver, room, p.o.Timeout+payMargin)
	if err != nil {
		if ctx.Err() == nil {
			p.books.Failed(err)
		}
		return
	}
	p.books.Works()
	leaseEnds := time.Now().Add(p.o.Timeout + payMargin)
	for _, w := range taken {
		p.slots <- struct{}{}
		wg.Go(func() {
			// after a panic it is due again when the lease ends
			p.o.Recoverer.Do(part, func() { p.try(ctx, w, leaseEnds) })
			<-p.slots
			p.Wake() // there is room for the next
		})
	}
}

// try asks the provider once, and records what it has answered.
func (p *Payer) try(ctx context.Context, w ledger.Withdrawal, leaseEnds time.Time) {
	if wait := time.Duration(w.NotBefore-p.o.Clock()) * time.Millisecond; wait > 0 && !loop.Sleep(ctx, wait) {
		return // it is due again when the lease ends, and nobody was asked
	}
	faults.Point("withdraw.before_pay")
	answer, err := p.pay(ctx, w)
	faults.Point("withdraw.after_pay")
	// A context of its own: the answer must be written down, also where the provider has used up the time of a
	// shutdown.
	recording, cancel := loop.Graceful(ctx, payGrace)
	defer cancel()
	recording, cancelDeadline := context.WithDeadline(recording, leaseEnds)
	defer cancelDeadline()
	p.record(recording, w, p.classify(ctx, w, answer, err))
}

// pay calls the provider. One that panics has given an unclear answer like any other, so that the withdrawal comes to a
// person in the end.
func (p *Payer) pay(ctx context.Context, w ledger.Withdrawal) (answer Answer, err error) {
	ctx, cancel := loop.Graceful(ctx, payGrace)
	defer cancel()
	ctx, cancelTimeout := context.WithTimeout(ctx, p.o.Timeout)
	defer cancelTimeout()
	began := time.Now()
	defer func() { p.seconds.Observe(time.Since(began).Seconds()) }()
	payment := Payment{Key: w.ID, User: w.User, Amount: w.Amount, CreatedAt: w.CreatedAt}
	err = p.o.Recoverer.Try(part, func() (err error) {
		if asker, can := p.provider.(Asker); can && w.AskedBefore {
			if answer, err = asker.Ask(ctx, payment); err != nil || answer.Status != Unknown {
				return err
			}
		}
		answer, err = p.provider.Pay(ctx, payment)
		return err
	})
	return answer, err
}

// record writes a verdict down, for as long as the lease lasts. Where it cannot, nothing is lost: the provider is asked
// again under the same key and says the same.
func (p *Payer) record(ctx context.Context, w ledger.Withdrawal, v verdict) {
	for failed := 0; ; failed++ {
		err := v.write(ctx)
		switch {
		case err == nil:
			p.books.Works()
			p.outcome.WithLabelValues(v.outcome).Inc()
			p.tell(w, v)
			return
		case errors.Is(err, ledger.ErrLeaseLost):
			p.o.Log.Info("a try at a withdrawal was overtaken by another, whose answer counts", "withdrawal", w.ID,
				"outcome", v.outcome)
			return
		case errors.Is(err, ledger.ErrPaidTwice):
			p.o.Log.Error("money was paid twice", "withdrawal", w.ID, "user", w.User, "amount", int64(w.Amount), "err",
				err)
			p.alarm(w, ledger.ErrPaidTwice.Error())
			return
		case errors.Is(err, ledger.ErrNotAsked):
			p.o.Log.Error("a payment of somebody who was not asked for it", "withdrawal", w.ID, "err", err)
			p.alarm(w, ledger.ErrNotAsked.Error())
			return
		}
		p.books.Failed(err)
		if !loop.Sleep(ctx, loop.Backoff(100*time.Millisecond, 2*time.Second, failed)) {
			p.o.Log.Warn("the provider's answer could not be recorded; it is asked again when the lease ends",
				"withdrawal", w.ID, "outcome", v.outcome, "err", err)
			return
		}
	}
}

// tell says what has been recorded.
func (p *Payer) tell(w ledger.Withdrawal, v verdict) {
	log := p.o.Log.With("withdrawal", w.ID, "user", w.User, "amount", int64(w.Amount), "attempts", w.Attempts)
	switch v.outcome {
	case outcomePaid:
		log.Debug("a withdrawal is paid")
	case outcomeRefused:
		log.Info("a withdrawal was refused; the money is back in the player's account", "reason", v.reason)
	case outcomeDead:
		log.Error("a withdrawal was given up; it is kept as a dead letter", "reason", v.reason)
		p.alarm(w, "a withdrawal waits for a person: "+v.reason)
	}
	news := v.outcome == outcomePaid || v.outcome == outcomeRefused || v.outcome == outcomeAction
	if news && p.o.OnNews != nil {
		p.o.OnNews(w.ID)
	}
}

func (p *Payer) alarm(w ledger.Withdrawal, message string) {
	if p.o.OnAlarm != nil {
		p.o.OnAlarm(w, message)
	}
}

func (p *Payer) refreshGauge(ctx context.Context) {
	n, err := p.ledger.CountPending(ctx)
	if err == nil {
		p.pending.Set(float64(n))
	} else if ctx.Err() == nil {
		p.o.Log.Debug("pending withdrawals cannot be counted", "err", err)
	}
}

// buryStrays makes dead letters of withdrawals that were sent to another receiver and that nobody asks it for any more.
func (p *Payer) buryStrays(ctx context.Context) {
	buried, err := p.ledger.BuryStrays(ctx, p.receiver, strayLimit)
	for _, w := range buried {
		p.tell(w, verdict{outcome: outcomeDead, reason: "was sent to " + w.Receiver + "; this server uses " +
			p.receiver + "; find out there whether it was paid"})
		p.outcome.WithLabelValues(outcomeDead).Inc()
	}
	if err != nil && ctx.Err() == nil {
		p.books.Failed(err)
	}
}
