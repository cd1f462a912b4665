package store

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/internal/loop"
)

const (
	clockEvery   = 10 * time.Second
	clockSamples = 8
	clockTimeout = 2 * time.Second
)

// Clock is the cluster's time: Redis's clock, so that all nodes have the same time despite their own clocks. It reads
// Redis every few seconds and continues with the machine's monotonic clock in between, also while Redis is away. In a
// Redis Cluster it is the time of one master. NTP should synchronize the masters' clocks: the script allows for a
// difference of 250 ms.
type Clock struct {
	Recoverer *loop.Recoverer // of Run; nil: panics are logged only

	ask    func(ctx context.Context) (time.Time, error)
	log    *slog.Logger
	start  time.Time    // monotonic zero
	offset atomic.Int64 // microseconds from start to Unix time on the cluster's clock
}

// NewClock returns a clock that shows the machine's time until the first Sync. log may be nil.
func NewClock(rdb redis.UniversalClient, log *slog.Logger) *Clock {
	return newClock(func(ctx context.Context) (time.Time, error) { return askRedis(ctx, rdb) }, log)
}

func newClock(ask func(ctx context.Context) (time.Time, error), log *slog.Logger) *Clock {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &Clock{ask: ask, log: log, start: time.Now()}
	c.offset.Store(c.start.UnixMicro())
	return c
}

func askRedis(ctx context.Context, rdb redis.UniversalClient) (time.Time, error) {
	if cluster, ok := rdb.(*redis.ClusterClient); ok {
		node, err := cluster.MasterForKey(ctx, clockKey)
		if err != nil {
			return time.Time{}, err
		}
		t, err := node.Time(ctx).Result()
		if err != nil {
			cluster.ReloadState(ctx) // its replica may have taken over
		}
		return t, err
	}
	return rdb.Time(ctx).Result()
}

// Now returns the time in Unix milliseconds. It is a rain.Clock.
func (c *Clock) Now() int64 { return (c.offset.Load() + time.Since(c.start).Microseconds()) / 1000 }

// Sync reads the time from Redis. Of several answers it takes the fastest, which is wrong by at most half its round
// trip. If Redis does not answer, Sync fails and the clock goes on as before.
func (c *Clock) Sync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, clockTimeout)
	defer cancel()
	var best, way time.Duration // microsecond offset of the best answer, and its round trip
	for i := range clockSamples {
		sent := time.Since(c.start)
		t, err := c.ask(ctx)
		took := time.Since(c.start) - sent
		if err != nil {
			return fmt.Errorf("read the time from redis: %w", err)
		}
		if i == 0 || took < way {
			way = took
			best = time.Duration(t.UnixMicro())*time.Microsecond - (sent + took/2)
		}
	}
	// The offset is kept while it may be right, so that the clock does not jitter with every reading.
	shown := time.Duration(c.offset.Load()) * time.Microsecond
	if diff := best - shown; diff.Abs() > way/2 {
		c.offset.Store(best.Microseconds())
	}
	return nil
}

// Run reads the time again every ten seconds until ctx ends; then it returns nil. Call Sync first.
func (c *Clock) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "clock", Work: "reading the time from Redis; the clock goes on without it",
		Every: clockEvery, Do: c.Sync, Recoverer: c.Recoverer, Log: c.log})
}
