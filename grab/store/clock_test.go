package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/testenv"
)

// fakeRedis has a clock of its own, and its answers take some time.
type fakeRedis struct {
	name  string
	ahead time.Duration   // of this machine
	way   []time.Duration // there and back, one call after the other; the first half of it is the way there
	err   error
	asked int
	mu    sync.Mutex
}

// set changes the answers of the fake while a clock uses it.
func (f *fakeRedis) set(err error, ahead time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.ahead = err, ahead
}

func (f *fakeRedis) ask(context.Context) (time.Time, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	way := f.way[f.asked%len(f.way)]
	f.asked++
	time.Sleep(way / 4) //nolint:forbidigo // the fake network takes its time, in the fake time of synctest
	if f.err != nil {
		return time.Time{}, f.err
	}
	t := time.Now().Add(f.ahead)
	time.Sleep(way - way/4) //nolint:forbidigo // as above
	return t, nil
}

// clockOf is a clock on masters.
func clockOf(masters ...*fakeRedis) *Clock {
	return newClock(func(ctx context.Context, each eachClock) error {
		for _, m := range masters {
			each(ctx, m.name, m.ask)
		}
		return nil
	}, nil)
}

func TestClockShowsTheTimeOfRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ms := time.Millisecond
		f := &fakeRedis{ahead: -7 * time.Hour, way: []time.Duration{80 * ms, 40 * ms, 200 * ms}}
		c := clockOf(f)
		off := func() time.Duration {
			return time.Duration(c.Now()-time.Now().Add(f.ahead).UnixMilli()) * ms
		}
		if o := off(); o < 6*time.Hour {
			t.Errorf("before the first Sync it is not the machine's time: off by %v", o)
		}
		testenv.Must(t, c.Sync(t.Context()))
		// The fastest answer is the one to take. It came a quarter of its 40 ms earlier than half of them.
		testenv.Equal(t, off(), -10*ms, "off by")
		time.Sleep(time.Hour) //nolint:forbidigo // fake time
		testenv.Equal(t, off(), -10*ms, "an hour later off by")

		// An offset that may be right is kept, so that the clock does not tremble.
		var before int64
		for _, step := range []struct{ ahead, corrected time.Duration }{
			{20 * ms, 0}, {ms, 21 * ms}, {-20 * ms, 0}, {-ms, -21 * ms}, {time.Second, time.Second},
		} {
			before, f.asked = c.offset.Load(), 0
			f.ahead += step.ahead
			if err := c.Sync(t.Context()); err != nil || c.offset.Load()-before != step.corrected.Microseconds() {
				t.Errorf("Redis was set by %v, and the clock corrected by %v µs (%v)", step.ahead,
					c.offset.Load()-before, err)
			}
		}

		f.err = errors.New("away")
		before = c.offset.Load()
		if err := c.Sync(t.Context()); !errors.Is(err, f.err) || c.offset.Load() != before {
			t.Errorf("without Redis: %v, and the clock was changed by %v", err, c.offset.Load()-before)
		}
	})
}

func TestClockRunReadsAgainUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pass := func(d time.Duration) {
			time.Sleep(d) //nolint:forbidigo // fake time
			synctest.Wait()
		}
		f := &fakeRedis{way: []time.Duration{0}}
		c := clockOf(f)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		pass(clockEvery + time.Second)
		if f.asked != 2*clockSamples { // at once, and after a period
			t.Errorf("asked %d times, want %d", f.asked, 2*clockSamples)
		}
		f.set(errors.New("away"), 0)
		pass(2 * clockEvery)
		f.set(nil, time.Second)
		pass(clockEvery)
		if off := c.Now() - time.Now().Add(time.Second).UnixMilli(); off < -1 || off > 1 {
			t.Errorf("after the outage off by %d ms", off)
		}
		cancel()
		testenv.WantErr(t, <-ended, nil, "ended with")
	})
}

// TestClocksVote: a master with a wrong clock moves nothing and raises an alarm. When it is right again, all is as
// before.
func TestClocksVote(t *testing.T) {
	type all []int
	hours := func(n int) time.Duration { return time.Duration(n) * time.Hour }
	for name, c := range map[string]struct {
		ahead   all      // hours that the masters are ahead, after the start
		ledger  int      // hours that the database's clock is ahead; away: it does not answer
		isNew   bool     // the node starts now
		want    int      // hours
		wrong   []string // masters that the alarm names
		isMoved bool     // the alarm reports a new time of the cluster
	}{
		"one Redis, ahead":              {all{1}, 0, false, 0, []string{"m0 is wrong by +1h0m0s"}, false},
		"one Redis, back":               {all{-1}, 0, false, 0, []string{"m0 is wrong by -1h0m0s"}, false},
		"the database is away":          {all{1}, away, false, 0, []string{"m0 is wrong by +1h0m0s"}, false},
		"the database is wrong, too":    {all{1}, -1, false, 0, []string{"m0 is wrong"}, false},
		"a new node":                    {all{1}, 0, true, 0, []string{"m0 is wrong by +1h0m0s"}, false},
		"one of three":                  {all{1, 0, 0}, 0, false, 0, []string{"m0 is wrong"}, false},
		"two of three":                  {all{1, 0, 1}, 0, false, 0, []string{"m0 is", "m2 is"}, false},
		"two of three, for a new node":  {all{1, 0, 1}, 0, true, 0, []string{"m0 is", "m2 is"}, false},
		"most clocks":                   {all{1, 1, 1}, 1, false, 1, nil, true},
		"as many on both sides":         {all{1, 1}, away, false, 0, []string{"m0 is", "m1 is"}, false},
		"a new node on a wrong machine": {all{1}, 1, true, 1, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				masters := make([]*fakeRedis, len(c.ahead))
				for i := range masters {
					masters[i] = &fakeRedis{name: fmt.Sprint("m", i), way: []time.Duration{0}}
				}
				clock := clockOf(masters...)
				var alarms []string
				isNew := 0
				clock.Alarm = func(message string, begins bool) {
					alarms = append(alarms, message)
					if begins {
						isNew++
					}
				}
				ledger := &fakeRedis{ahead: hours(c.ledger), way: []time.Duration{0}}
				if c.ledger == away {
					ledger.err = errors.New("no answer")
				}
				clock.Ledger = ledger.ask
				off := func() time.Duration {
					return time.Duration(clock.Now()-time.Now().UnixMilli()) * time.Millisecond
				}
				read := func() {
					t.Helper()
					testenv.Must(t, clock.Sync(t.Context()))
				}
				if !c.isNew {
					read()
					testenv.Equal(t, alarms, nil, "alarms before")
				}
				for i, ahead := range c.ahead {
					masters[i].ahead = hours(ahead)
				}
				read()
				testenv.Equal(t, off(), hours(c.want), "the clock is off by")
				text := strings.Join(alarms, "\n")
				for _, part := range c.wrong {
					testenv.Contains(t, text, "the clock of "+part, "alarm")
				}
				testenv.Equal(t, strings.Count(text, "the clock of "), len(c.wrong), "wrong clocks in %q", text)
				testenv.Equal(t, strings.Contains(text, "the cluster's time has changed by +1h0m0s"), c.isMoved,
					"a new time in %q", text)
				if len(c.wrong) == 0 {
					return
				}
				read()
				testenv.Equal(t, len(alarms), 2, "alarms while it lasts")
				testenv.Equal(t, isNew, 1, "new alarms while it lasts")
				for _, m := range masters {
					m.ahead = 0
				}
				read()
				testenv.Equal(t, off(), 0, "when all are right again, off by")
				masters[0].ahead = time.Hour
				read()
				testenv.Equal(t, len(alarms), 3, "alarms after another step")
				testenv.Equal(t, isNew, 2, "new alarms after another step")
			})
		})
	}
}

const away = 99
