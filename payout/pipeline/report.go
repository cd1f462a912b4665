package pipeline

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// Alarms are the callbacks for events that an operator must see. Each may be nil. All events are logged, too.
type Alarms struct {
	OnDead   func([]posting.DeadLetter) // new dead letters, except forged ones
	OnForged func(Forged)               // messages and wins with an invalid seal
	OnVoid   func([]posting.DeadLetter) // wins that came too late, see Posted.Void
	OnCut    func([]posting.ReclaimCut) // reclaims that got less than they asked for
}

// Forged counts input with an invalid seal: an outsider writes to Redis or to NATS.
type Forged struct {
	Letters   []posting.DeadLetter // kept, of kind forged or message
	Discarded int                  // not kept, because many like them are
}

// report counts the outcomes of entries and calls the alarms.
type report struct {
	alarms Alarms
	clock  rain.Clock
	log    *slog.Logger

	settled  prometheus.Counter
	held     prometheus.Counter
	seconds  prometheus.Histogram
	failures prometheus.Counter
	forged   prometheus.Counter
}

func newReport(alarms Alarms, clock rain.Clock, log *slog.Logger, reg prometheus.Registerer) *report {
	metrics := promauto.With(reg)
	return &report{
		alarms: alarms, clock: clock, log: log,
		settled: metrics.NewCounter(prometheus.CounterOpts{
			Name: "redrain_settled_total", Help: "Claims posted to the ledger.",
		}),
		held: metrics.NewCounter(prometheus.CounterOpts{
			Name: "redrain_held_total", Help: "Of the claims posted to the ledger, those that are kept apart until " +
				"an operator has decided about them.",
		}),
		seconds: metrics.NewHistogram(prometheus.HistogramOpts{
			Name: "redrain_settle_seconds", Help: "From the win to its commit in the ledger.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800},
		}),
		forged: metrics.NewCounter(prometheus.CounterOpts{
			Name: "redrain_forged_total", Help: "Messages, wins and reclaims that no node of this installation has " +
				"sealed.",
		}),
		failures: metrics.NewCounter(prometheus.CounterOpts{
			Name: "redrain_payout_failures_total", Help: "Stream messages that could not be settled at a try, and " +
				"are tried again.",
		}),
	}
}

// posted reports a posted batch.
func (r *report) posted(posted posting.Posted) {
	r.settled.Add(float64(posted.New))
	r.held.Add(float64(posted.Held))
	now := r.clock()
	for _, p := range posted.Settled {
		if p.New {
			r.seconds.Observe(float64(max(now-p.WonAt, 0)) / 1000)
		}
	}
	r.dead(posted.Dead)
	if posted.Discarded > 0 {
		r.notSealed(Forged{Discarded: posted.Discarded})
	}
	for _, c := range posted.Cut {
		r.log.Error("a reclaim asked for more than its shard has left: it got the rest", "entry", c.Ref.String(),
			"asked", int64(c.Asked), "given", int64(c.Given), "reason", c.Reason)
	}
	if len(posted.Cut) > 0 && r.alarms.OnCut != nil {
		r.alarms.OnCut(posted.Cut)
	}
	for _, d := range posted.Void {
		r.log.Error("a win came too late to be paid: it is kept as a resolved dead letter", "claim", d.Claim,
			"entry", d.Source, "user", d.User, "amount", int64(d.Amount), "reason", d.Reason)
	}
	if len(posted.Void) > 0 && r.alarms.OnVoid != nil {
		r.alarms.OnVoid(posted.Void)
	}
}

// dead reports new dead letters.
func (r *report) dead(letters []posting.DeadLetter) {
	var others, forged []posting.DeadLetter
	for _, d := range letters {
		if d.Kind == posting.LetterForged {
			forged = append(forged, d)
			continue
		}
		r.log.Error("a payout cannot be posted: it is kept as a dead letter", "claim", d.Claim, "entry", d.Source,
			"user", d.User, "amount", int64(d.Amount), "reason", d.Reason)
		others = append(others, d)
	}
	if len(others) > 0 && r.alarms.OnDead != nil {
		r.alarms.OnDead(others)
	}
	if len(forged) > 0 {
		r.notSealed(Forged{Letters: forged})
	}
}

// notSealed reports input with an invalid seal.
func (r *report) notSealed(f Forged) {
	r.forged.Add(float64(len(f.Letters) + f.Discarded))
	for _, d := range f.Letters {
		r.log.Error("invalid seal: it is kept as a dead letter and not paid",
			"claim", d.Claim, "entry", d.Source, "user", d.User, "reason", d.Reason)
	}
	if f.Discarded > 0 {
		r.log.Warn("unpayable input is dropped: many dead letters like it are kept", "dropped", f.Discarded)
	}
	if r.alarms.OnForged != nil {
		r.alarms.OnForged(f)
	}
}
