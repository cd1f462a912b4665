package loop

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Recoverer keeps a panic in one round from ending the process. It logs the panic with its stack, counts it in
// redrain_panics_total and raises an alarm. A nil Recoverer only logs. It is safe for concurrent use.
type Recoverer struct {
	log      *slog.Logger
	alarm    func(part, message string)
	panics   *prometheus.CounterVec
	failures *prometheus.CounterVec

	mu   sync.Mutex
	last map[string]time.Time // by part: its last panic
}

// calm is the time without a panic of a part after which its next panic raises an alarm again.
const calm = 10 * time.Minute

// ErrPanic is wrapped in the error of a round that has panicked. The log has the stack.
var ErrPanic = errors.New("a fault of the program")

// NewRecoverer returns the recoverer of a process. alarm is called on the goroutine that panicked, and again only after
// ten minutes without a panic of the part; nil: no alarm. log nil: slog.Default. reg nil: no metrics.
func NewRecoverer(reg prometheus.Registerer, log *slog.Logger, alarm func(part, message string)) (*Recoverer, error) {
	r := &Recoverer{log: log, alarm: alarm, last: map[string]time.Time{}}
	r.panics = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "redrain_panics_total",
		Help: "Panics that were caught, by the part of the process. Each is a fault of the program, and its stack is " +
			"in the log.",
	}, []string{"part"})
	r.failures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "redrain_failed_rounds_total",
		Help: "Rounds of background loops that have failed and are repeated, by the part of the process.",
	}, []string{"part"})
	if reg == nil {
		return r, nil
	}
	return r, errors.Join(reg.Register(r.panics), reg.Register(r.failures))
}

// Do runs one round of a part and reports whether it reached its end. After a panic the caller goes on with the next
// round; it pauses first if the same round would follow at once.
func (r *Recoverer) Do(part string, round func()) (ok bool) {
	defer r.Recover(part, func(any) { ok = false })
	round()
	return true
}

// Recover must be deferred: it recovers a panic of the deferring function, and calls panicked with its value.
func (r *Recoverer) Recover(part string, panicked func(with any)) {
	if p := recover(); p != nil { //nolint:revive // it is what is deferred
		r.caught(part, p)
		panicked(p)
	}
}

// Try runs one round of a part and returns its error, which is ErrPanic with the panic's value after a panic.
func (r *Recoverer) Try(part string, round func() error) (err error) {
	defer r.Recover(part, func(with any) { err = fmt.Errorf("%w: %v", ErrPanic, with) })
	return round()
}

func (r *Recoverer) caught(part string, p any) {
	log := slog.Default()
	if r != nil && r.log != nil {
		log = r.log
	}
	log.Error("a round has panicked; the next one goes on", "part", part, "panic", fmt.Sprint(p),
		"stack", string(debug.Stack()))
	if r == nil {
		return
	}
	r.panics.WithLabelValues(part).Inc()
	r.mu.Lock()
	again := time.Since(r.last[part]) < calm
	r.last[part] = time.Now()
	r.mu.Unlock()
	if r.alarm != nil && !again {
		r.alarm(part, fmt.Sprintf("%s in part %s: %v", ErrPanic, part, p))
	}
}

func (r *Recoverer) countFailure(part string) {
	if r != nil {
		r.failures.WithLabelValues(part).Inc()
	}
}
