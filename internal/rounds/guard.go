package rounds

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Guard keeps a panic in one round from ending the process: it logs the panic with its stack, counts it in
// redrain_panics_total and raises an alarm. A nil Guard logs and does no more. It is safe for concurrent use.
type Guard struct {
	log    *slog.Logger
	alarm  func(part, message string)
	panics *prometheus.CounterVec

	mu   sync.Mutex
	last map[string]time.Time // part → its last panic
}

// calm is how long a part must go without a panic to count as mended: then its next panic is an alarm again.
const calm = 10 * time.Minute

// ErrPanic is in the error of a round that has panicked. The log has the stack.
var ErrPanic = errors.New("a fault of the program")

// NewGuard makes the guard of a process. alarm hears of a part's panic, on the goroutine that panicked, and not of
// those that follow before the part was calm for ten minutes; nil = nobody does. log nil = slog.Default. reg nil = no
// metric.
func NewGuard(reg prometheus.Registerer, log *slog.Logger, alarm func(part, message string)) (*Guard, error) {
	g := &Guard{log: log, alarm: alarm, last: map[string]time.Time{}}
	g.panics = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "redrain_panics_total",
		Help: "Panics that were caught, by the part of the process. Each is a fault of the program, and its stack is " +
			"in the log.",
	}, []string{"part"})
	if reg == nil {
		return g, nil
	}
	return g, reg.Register(g.panics)
}

// Do runs one round of a part and reports whether it came to its end. A round that panics has not; the caller goes on
// with the next one, after a pause if the same round would follow at once.
func (g *Guard) Do(part string, round func()) (ok bool) {
	defer g.Recover(part, func(any) { ok = false })
	round()
	return true
}

// Recover is Do for a function that defers it: it keeps a panic of that function from going further, and tells panicked
// with what.
func (g *Guard) Recover(part string, panicked func(with any)) {
	if p := recover(); p != nil { //nolint:revive // it is what is deferred
		g.caught(part, p)
		panicked(p)
	}
}

// Try runs one round of a part and returns its error. That of a round that panics is ErrPanic, with what it said.
func (g *Guard) Try(part string, round func() error) (err error) {
	defer g.Recover(part, func(with any) { err = fmt.Errorf("%w: %v", ErrPanic, with) })
	return round()
}

// Every calls do at once, and then again in each period, until ctx ends. A call that panics is the end of that call.
func (g *Guard) Every(ctx context.Context, part string, period time.Duration, do func(context.Context)) {
	Every(ctx, period, func(ctx context.Context) { g.Do(part, func() { do(ctx) }) })
}

func (g *Guard) caught(part string, p any) {
	log := slog.Default()
	if g != nil && g.log != nil {
		log = g.log
	}
	log.Error("a round has panicked; the next one goes on", "part", part, "panic", fmt.Sprint(p),
		"stack", string(debug.Stack()))
	if g == nil {
		return
	}
	g.panics.WithLabelValues(part).Inc()
	g.mu.Lock()
	again := time.Since(g.last[part]) < calm
	g.last[part] = time.Now()
	g.mu.Unlock()
	if g.alarm != nil && !again {
		g.alarm(part, fmt.Sprintf("%s in part %s: %v", ErrPanic, part, p))
	}
}
