package health

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/server/campaigns"
)

// backends are back ends that fail as a test says.
type backends map[string]error

func (b backends) check(name string) Check {
	return checkOf(name, func() error { return b[name] })
}

// checkOf checks a back end that fails with what it returns.
func checkOf(name string, state func() error) Check {
	return Check{Backend: name, Proves: "it works", Advice: "mend " + name,
		Do: func(ctx context.Context) error {
			err := state()
			if errors.Is(err, errHangs) {
				<-ctx.Done()
				return ctx.Err()
			}
			return err
		}}
}

var (
	errRefused = errors.New("refused by 10.0.0.1")
	errHangs   = errors.New("hangs")
)

// watched is a running monitor and the alarms that it raised.
type watched struct {
	*Monitor

	registry *prometheus.Registry
	stop     func()

	mu     sync.Mutex // guards the rest, and what the test changes
	raised []string   // since the last call of after
}

// change makes a change that the monitor reads.
func (w *watched) change(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
}

// watch runs a monitor in the bubble of a test.
func watch(t *testing.T, b backends, u UnpaidOptions, essential ...string) *watched {
	t.Helper()
	w := &watched{registry: prometheus.NewRegistry()}
	if u.Live == nil {
		u.Live = func() []*rain.Campaign { return nil }
	}
	if u.Stream == nil {
		u.Stream = func(context.Context) (int64, error) { return 0, nil }
	}
	outbox, stream := u.Outbox, u.Stream
	u.Outbox = func(ctx context.Context, c *rain.Campaign) (int64, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return outbox(ctx, c)
	}
	u.Stream = func(ctx context.Context) (int64, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return stream(ctx)
	}
	check := func(name string) Check {
		return checkOf(name, func() error {
			w.mu.Lock()
			defer w.mu.Unlock()
			return b[name]
		})
	}
	u.Clock, u.Registerer = func() int64 { return time.Now().UnixMilli() }, w.registry
	w.Monitor = NewMonitor(Options{
		Checks: []Check{check("redis"), check("nats"), check("mysql")}, Essential: essential,
		Unpaid: NewUnpaid(u), Log: slog.New(slog.DiscardHandler), Registerer: w.registry,
		Alarm: func(code, message string, isNew bool) {
			w.change(func() { w.raised = append(w.raised, fmt.Sprint(code, " ", isNew, " ", message)) })
		},
	})
	w.stop = testenv.Run(t, w.Run)
	return w
}

// after lets time pass, and returns the alarms that were raised meanwhile.
func (w *watched) after(d time.Duration) (raised []string) {
	w.change(func() { w.raised = nil })
	<-time.After(d)
	synctest.Wait()
	w.change(func() { raised = w.raised })
	return raised
}

// TestReadyz: /readyz says what a missing back end means for newcomers on this node, from the last checks.
func TestReadyz(t *testing.T) {
	t.Parallel()
	partly := fmt.Errorf("%w: a master is away", ErrPartly)
	for _, c := range []struct {
		name      string
		essential []string
		away      backends
		full      bool
		draining  bool
		query     string
		status    int
		answer    string
	}{
		{"all works", []string{"redis"}, backends{}, false, false, "", 200, `{"status":"ready"}`},
		{"all works, all asked for", []string{"redis"}, backends{}, false, false, "?all", 200, `{"status":"ready"}`},
		{"the database is away", []string{"redis"}, backends{"mysql": errRefused}, false, false, "", 200,
			`{"status":"degraded","missing":["mysql"]}`},
		{"the database is away, all asked for", []string{"redis"}, backends{"mysql": errRefused}, false, false, "?all",
			503, `{"status":"unready","missing":["mysql"]}`},
		{"the database hangs", []string{"redis"}, backends{"mysql": errHangs}, false, false, "", 200,
			`{"status":"degraded","missing":["mysql"]}`},
		{"NATS is away", []string{"redis"}, backends{"nats": errRefused}, false, false, "", 200,
			`{"status":"degraded","missing":["nats"]}`},
		{"NATS is away, and confirms", []string{"redis", "nats"}, backends{"nats": errRefused, "mysql": errRefused},
			false, false, "", 503, `{"status":"unready","missing":["mysql","nats"]}`},
		{"Redis is away", []string{"redis"}, backends{"redis": errRefused}, false, false, "", 503,
			`{"status":"unready","missing":["redis"]}`},
		{"a part of Redis is away", []string{"redis"}, backends{"redis": partly}, false, false, "", 200,
			`{"status":"degraded","missing":["redis"]}`},
		{"a node without players", nil, backends{"redis": errRefused, "nats": errHangs, "mysql": errRefused}, false,
			false, "", 200, `{"status":"degraded","missing":["mysql","nats","redis"]}`},
		{"full", []string{"redis"}, backends{}, true, false, "", 503, `{"status":"full"}`},
		{"full and degraded", []string{"redis"}, backends{"mysql": errRefused}, true, false, "", 503,
			`{"status":"full"}`},
		{"ends", []string{"redis"}, backends{"redis": errRefused}, true, true, "", 503, `{"status":"draining"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := watch(t, c.away, UnpaidOptions{}, c.essential...)
				defer w.stop()
				r := &Readiness{Monitor: w.Monitor, Full: func() bool { return c.full },
					Proved: func() *campaigns.Proved { return nil }}
				r.Draining.Store(c.draining)
				w.after(5 * time.Second)
				status, answer := get(r, "/readyz"+c.query)
				testenv.Equal(t, status, c.status, "status")
				testenv.Equal(t, answer, c.answer, "answer")
			})
		})
	}
}

func get(h http.Handler, path string) (status int, answer string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, strings.TrimSpace(w.Body.String())
}

// TestReadyzTellsWhenTheBooksWereProved, where the node knows; a proof that is too old takes no node out of service.
func TestReadyzTellsWhenTheBooksWereProved(t *testing.T) {
	t.Parallel()
	proved := &campaigns.Proved{Everything: ledger.Proof{ProvedAt: 3000}, Oldest: 2000, Stale: true}
	r := &Readiness{Monitor: NewMonitor(Options{}), Full: func() bool { return false },
		Proved: func() *campaigns.Proved { return proved }}
	status, answer := get(r, "/readyz")
	testenv.Equal(t, status, http.StatusOK, "status")
	testenv.Equal(t, answer, `{"status":"ready","books":{"proved_at":3000,"oldest":2000,"stale":true}}`, "answer")
}

// TestABackEndThatIsAway is a metric at once, an alarm within 30 s, and neither when it is back. A failover of seconds
// is no alarm. The checks are never older than five seconds.
func TestABackEndThatIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := backends{}
		w := watch(t, b, UnpaidOptions{}, "redis")
		defer w.stop()
		up := func(want float64) {
			t.Helper()
			testenv.Equal(t, testutil.ToFloat64(w.up.WithLabelValues("mysql")), want, "redrain_backend_up")
		}
		testenv.Equal(t, len(w.after(time.Minute)), 0, "alarms while all works")
		up(1)
		w.change(func() { b["mysql"] = errHangs })
		testenv.Equal(t, len(w.after(5*time.Second)), 0, "alarms after five seconds")
		up(0)
		raised := w.after(25 * time.Second)
		testenv.Equal(t, len(raised) > 1, true, "the alarm is repeated: %q", raised)
		testenv.Contains(t, raised[0], "backend_down true mysql does not work since", "the alarm")
		testenv.Contains(t, raised[0], "mend mysql", "the alarm")
		testenv.Contains(t, raised[1], "backend_down false", "the alarm again")
		w.change(func() { b["nats"] = errRefused })
		raised = w.after(20 * time.Second)
		testenv.Contains(t, raised[len(raised)-1], errRefused.Error()+"; mend nats. mysql does not work", "both")
		w.change(func() { clear(b) })
		w.after(5 * time.Second)
		up(1)
		testenv.Equal(t, len(w.after(time.Minute)), 0, "alarms after the repair")
	})
}

// TestUnpaid: a win that is not in the ledger for 30 s is an alarm, wherever it is. So are outboxes that cannot be
// read. A stream that cannot be read is none: the outboxes have its wins.
func TestUnpaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var outbox, stream int64
		var unread, unreadStream error
		w := watch(t, backends{}, UnpaidOptions{
			Live: func() []*rain.Campaign { return []*rain.Campaign{{ID: "c"}, {ID: "d"}} },
			Outbox: func(_ context.Context, c *rain.Campaign) (int64, error) {
				if c.ID == "d" {
					return 0, nil
				}
				return outbox, unread
			},
			Stream: func(context.Context) (int64, error) { return stream, unreadStream },
		})
		defer w.stop()
		seconds := func(want float64) {
			t.Helper()
			got := testenv.Got(w.registry.Gather()).Must(t)
			for _, family := range got {
				if family.GetName() == "redrain_oldest_unpaid_seconds" {
					testenv.Equal(t, family.GetMetric()[0].GetGauge().GetValue(), want, "its age")
				}
			}
		}
		now := func() int64 { return time.Now().UnixMilli() }
		quiet := func(d time.Duration, when string) {
			t.Helper()
			testenv.Equal(t, len(w.after(d)), 0, "alarms, %s", when)
		}
		raises := func(want, when string) {
			t.Helper()
			raised := w.after(10 * time.Second)
			testenv.Equal(t, len(raised) > 0, true, "the alarm, %s", when)
			testenv.Contains(t, raised[0], "unpaid true "+want, "%s", when)
		}
		quiet(time.Minute, "nothing was won")
		seconds(0)

		w.change(func() { outbox = now() })
		quiet(25*time.Second, "a young win")
		seconds(25)
		raises("a win of", "an old win")
		w.change(func() { outbox = 0 })
		w.after(5 * time.Second)
		quiet(time.Minute, "it is paid")
		seconds(0)

		w.change(func() { stream = now() })
		quiet(25*time.Second, "a young message")
		raises("a win of", "an old message")
		w.change(func() { stream, unreadStream = 0, errRefused })
		w.after(5 * time.Second)
		quiet(time.Minute, "the stream cannot be read")

		w.change(func() { unread = errRefused })
		quiet(25*time.Second, "the outboxes cannot be read")
		raises("wins of up to", "they cannot be read for long")
		w.change(func() { unread = nil })
		w.after(5 * time.Second)
		quiet(time.Minute, "they can be read")
		seconds(0)
	})
}

// TestAsk: a command reports a check with its level and a sentence.
func TestAsk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want Finding
	}{
		{nil, Finding{"mysql", OK, "it works"}},
		{fmt.Errorf("%w: one of two", ErrPartly), Finding{"mysql", Warn, "a part of it works: one of two; mend mysql"}},
		{errRefused, Finding{"mysql", Fail, "refused by 10.0.0.1; mend mysql"}},
	} {
		check := backends{"mysql": c.err}.check("mysql")
		testenv.Equal(t, check.Ask(t.Context()), c.want, "finding")
	}
}
