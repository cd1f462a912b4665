package store

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/internal/testenv"
)

func TestConnectUnderstandsAddresses(t *testing.T) {
	for _, c := range [][2]string{
		{"localhost:6379", "localhost:6379"},
		{"[::1]:6379", "[::1]:6379"},
		{"a:1,b:2", "cluster a:1 b:2"},
		{" a:1 , b:2 ", "cluster a:1 b:2"},
		{"redis://:secret@h:7/3", "h:7"},
		{"rediss://user:secret@h:7", "h:7 tls"},
		{"redis://u:secret@h:7?addr=i:8", "cluster h:7 i:8"},
		{"redis://:addr=secret@h:7", "h:7"},
		{"rediss://u:secret@h:7?addr=i:8&addr=j:9", "cluster h:7 i:8 j:9 tls"},
	} {
		addrs, want := c[0], c[1]
		rdb, err := Connect(addrs)
		if err != nil {
			t.Errorf("%s: %v", addrs, err)
			continue
		}
		const two = 2 * time.Second
		got, waits := describe(rdb)
		if wantWaits := (patience{two, two, two, 1, true}); got != want || waits != wantWaits {
			t.Errorf("%s: %s, waits %+v; want %s, %+v", addrs, got, waits, want, wantWaits)
		}
		// A failover is found within a second.
		if c, ok := rdb.(*redis.ClusterClient); ok && c.Options().ClusterStateReloadInterval != time.Second {
			t.Errorf("%s: the cluster is read again after %s", addrs, c.Options().ClusterStateReloadInterval)
		}
		_ = rdb.Close()
	}
	for _, bad := range []string{"", "localhost", "a:1,", "a:1,b", "http://:secret@h:1", "redis://:secret@h:1/x",
		"redis://u:secret@h:1?addr=i:1&x=y", "redis://u:secret%@h"} {
		rdb, err := Connect(bad)
		if err == nil {
			t.Errorf("%q was understood as %T", bad, rdb)
			_ = rdb.Close()
			continue
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error shows the password: %v", bad, err)
		}
	}
}

// patience has a client's time limits for Redis.
type patience struct {
	dial, read, write time.Duration
	dials             int
	context           bool // no longer than its caller
}

func describe(rdb redis.UniversalClient) (text string, waits patience) {
	var parts []string
	tls := false
	switch c := rdb.(type) {
	case *redis.ClusterClient:
		o := c.Options()
		parts, tls = append([]string{"cluster"}, o.Addrs...), o.TLSConfig != nil
		waits = patience{o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.DialerRetries, o.ContextTimeoutEnabled}
	case *redis.Client:
		o := c.Options()
		parts, tls = []string{o.Addr}, o.TLSConfig != nil
		waits = patience{o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.DialerRetries, o.ContextTimeoutEnabled}
	}
	if tls {
		parts = append(parts, "tls")
	}
	return strings.Join(parts, " "), waits
}

// fakeRedis has a clock of its own, and its answers take some time.
type fakeRedis struct {
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

func TestClockShowsTheTimeOfRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ms := time.Millisecond
		f := &fakeRedis{ahead: -7 * time.Hour, way: []time.Duration{80 * ms, 40 * ms, 200 * ms}}
		c := newClock(f.ask, nil)
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
			{20 * ms, 0}, {ms, 21 * ms}, {-20 * ms, 0}, {-ms, -21 * ms}, {time.Minute, time.Minute},
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
		c := newClock(f.ask, nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		pass(clockEvery + time.Second)
		if f.asked != 2*clockSamples { // at once, and after a period
			t.Errorf("asked %d times, want %d", f.asked, 2*clockSamples)
		}
		f.set(errors.New("away"), 0)
		pass(2 * clockEvery)
		f.set(nil, time.Hour)
		pass(clockEvery)
		if off := c.Now() - time.Now().Add(time.Hour).UnixMilli(); off < -1 || off > 1 {
			t.Errorf("after the outage off by %d ms", off)
		}
		cancel()
		testenv.WantErr(t, <-ended, nil, "ended with")
	})
}
