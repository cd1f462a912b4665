package health

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"redrain/internal/loop"
)

const (
	// every and within: a result is never older than five seconds.
	every  = 2 * time.Second
	within = 2500 * time.Millisecond
	// alarmAfter is the time that a back end may be away without an alarm: a failover takes seconds.
	alarmAfter = 10 * time.Second
)

// Options are the options of a Monitor. All are required unless stated otherwise.
type Options struct {
	Checks    []Check
	Essential []string // the back ends without which newcomers cannot play on this node; may be empty
	Unpaid    *Unpaid
	// Alarm reports a condition that lasts. It is called again and again while the condition lasts; isNew is true
	// at the first time.
	Alarm      func(code, message string, isNew bool)
	Recoverer  *loop.Recoverer // nil: panics are logged only
	Log        *slog.Logger
	Registerer prometheus.Registerer // nil: no metrics
}

// Monitor repeats the checks of this node's back ends. A back end counts as working until a check has failed.
type Monitor struct {
	o  Options
	up *prometheus.GaugeVec

	mu   sync.Mutex
	away map[string]absence // by back end
}

// absence describes a back end whose last check has failed.
type absence struct {
	since  time.Time
	reason error
}

// NewMonitor returns a monitor. Its Run must be started.
func NewMonitor(o Options) *Monitor {
	m := &Monitor{o: o, away: map[string]absence{}, up: promauto.With(o.Registerer).NewGaugeVec(prometheus.GaugeOpts{
		Name: "redrain_backend_up", Help: "1 if the back end does what this node needs of it, as the last check of " +
			"this node proved: Redis and the ledger take a write, the payout stream acknowledges a message.",
	}, []string{"backend"})}
	for _, c := range o.Checks {
		m.up.WithLabelValues(c.Backend).Set(1)
	}
	return m
}

// Run checks until ctx ends.
func (m *Monitor) Run(ctx context.Context) error {
	specs := []loop.Spec{
		{Work: "read the oldest unpaid win", Within: within, Do: m.o.Unpaid.read},
		{Do: loop.Plain(m.alarms())},
	}
	for _, c := range m.o.Checks {
		specs = append(specs, loop.Spec{Work: "use " + c.Backend, Within: within, Do: m.round(c)})
	}
	for i := range specs {
		s := &specs[i]
		s.Part, s.Every, s.Recoverer, s.Log = "health", every, m.o.Recoverer, m.o.Log
	}
	return loop.Run(ctx, specs...)
}

// round returns the round of one check.
func (m *Monitor) round(c Check) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		err := c.Do(ctx)
		if !errors.Is(ctx.Err(), context.Canceled) { // else the process ends
			m.record(c.Backend, err)
		}
		return err
	}
}

func (m *Monitor) record(backend string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		delete(m.away, backend)
		m.up.WithLabelValues(backend).Set(1)
		return
	}
	since := time.Now()
	if was, isAway := m.away[backend]; isAway {
		since = was.since
	}
	m.away[backend] = absence{since, err}
	m.up.WithLabelValues(backend).Set(0)
}

// Missing returns the back ends whose last check failed, in order, and whether newcomers can play without them.
func (m *Monitor) Missing() (missing []string, playable bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	playable = true
	for backend, a := range m.away {
		missing = append(missing, backend)
		playable = playable && (!slices.Contains(m.o.Essential, backend) || errors.Is(a.reason, ErrPartly))
	}
	slices.Sort(missing)
	return missing, playable
}

// alarms returns the round that raises the alarms.
func (m *Monitor) alarms() func(context.Context) {
	was := map[string]bool{}
	raise := func(code, message string) {
		if message != "" {
			m.o.Alarm(code, message, !was[code])
		}
		was[code] = message != ""
	}
	return func(context.Context) {
		raise("backend_down", m.longAway())
		raise("unpaid", m.o.Unpaid.alarm())
	}
}

// longAway describes the back ends that are away for a while; "" if there are none.
func (m *Monitor) longAway() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var texts []string
	for _, c := range m.o.Checks {
		if a, isAway := m.away[c.Backend]; isAway && time.Since(a.since) >= alarmAfter {
			texts = append(texts, fmt.Sprintf("%s does not work since %s: %v", c.Backend,
				a.since.UTC().Format(time.TimeOnly), c.Explain(a.reason)))
		}
	}
	return strings.Join(texts, ". ")
}
