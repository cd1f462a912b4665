package risk

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/payout/ledger/standing"
)

const (
	// failingAfter is the number of consecutive requests without an answer from which the system counts as failing.
	failingAfter = 3
	// failingFor is the least time for which it counts as failing, so that a flapping system causes few alarms.
	failingFor = 10 * time.Second
)

// Results of a request without a verdict.
const (
	outcomeLate        = "late"
	outcomeInvalid     = "invalid"
	outcomeBusy        = "busy"
	outcomeUnreachable = "unreachable"
)

// systemState tracks whether the system answers. It reports changes, not each request.
type systemState struct {
	log   *slog.Logger
	alarm func(message string)
	said  string // the verdict without an answer

	answers *prometheus.CounterVec
	seconds prometheus.Histogram
	gauge   prometheus.Gauge

	mu      sync.Mutex
	inARow  int
	failing bool
	since   time.Time // start of that
}

func newSystemState(o SystemOptions) *systemState {
	s := &systemState{log: o.Log, alarm: o.Alarm, said: string(o.Default),
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "redrain_risk_url_answers_total",
			Help: "Requests to the operator's risk system, by moment and answer: allow, hold, deny, or what took " +
				"its place: late (none in time), unreachable, invalid (one that makes no sense), busy (too many at " +
				"once).",
		}, []string{"moment", "answer"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "redrain_risk_url_seconds", Help: "Time until the risk system answers, time-outs included.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		}),
		gauge: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "redrain_risk_url_failing", Help: "1 while the risk system does not answer, as this process sees it.",
		}),
	}
	for _, m := range allMoments {
		for _, answer := range []string{string(standing.Allow), string(standing.Hold), string(standing.Deny),
			outcomeLate, outcomeUnreachable, outcomeInvalid, outcomeBusy} {
			s.answers.WithLabelValues(string(m), answer)
		}
	}
	o.Registerer.MustRegister(s.answers, s.seconds, s.gauge)
	return s
}

// ended records the result of a request.
func (s *systemState) ended(m Moment, a Answer, err error, took time.Duration) {
	outcome := string(a.Verdict)
	switch {
	case err == nil:
	case errors.Is(err, errLate):
		outcome = outcomeLate
	case errors.Is(err, errBusy):
		outcome = outcomeBusy
	case errors.Is(err, errInvalid):
		outcome = outcomeInvalid
	default:
		outcome = outcomeUnreachable
	}
	s.answers.WithLabelValues(string(m), outcome).Inc()
	s.seconds.Observe(took.Seconds())
	s.mu.Lock()
	now, since := time.Now(), s.since
	isChanged := s.count(err == nil, now)
	s.mu.Unlock()
	switch {
	case !isChanged:
	case err != nil:
		s.gauge.Set(1)
		s.log.Warn("the risk system does not answer", "err", err, "default", s.said)
		s.alarm(fmt.Sprintf("the risk system of --risk-url does not answer, and --risk-default %s holds: %v", s.said,
			err))
	default:
		s.gauge.Set(0)
		s.log.Info("the risk system answers again", "after", now.Sub(since).Round(time.Millisecond).String())
	}
}

// count counts a result. It reports whether the system begins or ceases to count as failing. It needs the lock.
func (s *systemState) count(isAnswer bool, now time.Time) (isChanged bool) {
	s.inARow++
	if isAnswer {
		s.inARow = 0
	}
	switch {
	case !s.failing && s.inARow >= failingAfter:
		s.failing, s.since = true, now
	case s.failing && isAnswer && now.Sub(s.since) >= failingFor:
		s.failing = false
	default:
		return false
	}
	return true
}
