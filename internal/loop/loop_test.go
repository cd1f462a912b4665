package loop_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/loop"
	"redrain/internal/testenv"
)

// lease is held or not.
type lease struct {
	isHeld   bool
	released int
}

func (l *lease) Under(ctx context.Context, do func(context.Context) error) error {
	if !l.isHeld {
		return nil
	}
	return do(ctx)
}

func (l *lease) Release(context.Context) { l.released++ }

// TestRun runs a loop for 25 s of fake time and looks at when its rounds began.
func TestRun(t *testing.T) {
	period := loop.Spec{Every: 10 * time.Second}
	soon := loop.Spec{Every: 10 * time.Second, Retry: 900 * time.Millisecond, RetryMost: 900 * time.Millisecond}
	for name, test := range map[string]struct {
		spec   loop.Spec
		wakeAt []int // seconds
		fails  int   // so many rounds fail
		panics bool
		want   []int // seconds; those of Woken are negative
	}{
		"each period, at once":                  {period, nil, 0, false, []int{0, 10, 20}},
		"in the next period after a failure":    {period, nil, 2, false, []int{0, 10, 20}},
		"in the next period after a panic":      {period, nil, 2, true, []int{0, 10, 20}},
		"when woken, and each period as before": {period, []int{3}, 0, false, []int{0, -3, 10, 20}},
		"only when woken":                       {loop.Spec{}, []int{3, 4, 24}, 0, false, []int{0, -3, -4, -24}},
		"soon after a failure, then a period":   {soon, []int{0}, 1, false, []int{0, 0, 0, 10, 20}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
				defer cancel()
				began := time.Now()
				var got []int
				round := func(sign int) func(context.Context) error {
					return func(context.Context) error {
						got = append(got, sign*int(time.Since(began).Seconds()))
						switch {
						case len(got) > test.fails:
							return nil
						case test.panics:
							panic("torn")
						}
						return errors.New("away")
					}
				}
				s := test.spec
				s.Part, s.Do, s.Woken, s.Wake = "test", round(1), round(-1), loop.NewWake()
				s.Log = slog.New(slog.DiscardHandler)
				for _, at := range test.wakeAt {
					time.AfterFunc(time.Duration(at)*time.Second, s.Wake.Signal)
				}
				testenv.WantErr(t, loop.Run(ctx, s), nil)
				testenv.Equal(t, got, test.want, "the rounds came at")
				testenv.Equal(t, time.Since(began), 25*time.Second, "it ended after")
			})
		})
	}
}

// A lasting failure is counted each time, and logged now and then; rounds without a pause back off.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, nil))
		reg := prometheus.NewRegistry()
		recoverer := testenv.Got(loop.NewRecoverer(reg, log, nil)).Must(t)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		began, rounds := time.Now(), 0
		_ = loop.Run(ctx, loop.Spec{Part: "settlement", Work: "posting", Recoverer: recoverer, Log: log,
			Do: func(ctx context.Context) error {
				if rounds++; time.Since(began) < 100*time.Second {
					return errors.New("down")
				}
				<-ctx.Done()
				return nil
			}})
		if rounds < 20 || rounds > 60 {
			t.Errorf("%d rounds with pauses of up to 5 s in 100 s", rounds)
		}
		if warns, infos := strings.Count(out.String(), "WARN"), strings.Count(out.String(), "INFO"); warns < 3 ||
			warns > 4 || infos != 1 {
			t.Errorf("%d warnings, %d notes:\n%s", warns, infos, &out)
		}
		if n, err := testutil.GatherAndCount(reg, "redrain_failed_rounds_total"); n != 1 || err != nil {
			t.Errorf("failures of %d parts, %v", n, err)
		}
	})
}

// A loop without Every and RetryMost has pauses of up to 5 s.
func TestRetryWithoutAPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
		defer cancel()
		rounds := 0
		_ = loop.Run(ctx, loop.Spec{Part: "test", Wake: loop.NewWake(), Retry: 100 * time.Millisecond,
			Do: func(context.Context) error {
				if rounds++; rounds > 1000 {
					cancel()
				}
				return errors.New("away")
			}})
		if rounds < 20 || rounds > 60 {
			t.Errorf("%d rounds in 100 s", rounds)
		}
	})
}

// A loop that has lost its lease in a long round lets another node take it.
func TestLostLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		var got []time.Duration
		_ = loop.Run(ctx, loop.Spec{Part: "test", Every: time.Second, Lease: &lease{isHeld: true},
			Do: func(ctx context.Context) error {
				got = append(got, time.Since(began))
				loop.Sleep(ctx, 3*time.Second)
				return nil
			}})
		testenv.Equal(t, got, []time.Duration{0, 4 * time.Second, 8 * time.Second}, "the rounds came at")
	})
}

// A round needs the lease, which is released at the end.
func TestLease(t *testing.T) {
	for _, isHeld := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			l, rounds := &lease{isHeld: isHeld}, 0
			_ = loop.Run(ctx, loop.Spec{Part: "test", Every: time.Second, Within: time.Millisecond, Lease: l,
				Do: func(ctx context.Context) error { rounds++; <-ctx.Done(); return nil }})
			if rounds > 0 != isHeld || l.released != 1 {
				t.Errorf("%d rounds, held %v, released %d times", rounds, isHeld, l.released)
			}
		})
	}
}
