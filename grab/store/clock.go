package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/internal/loop"
)

const (
	clockEvery   = 10 * time.Second
	clockSamples = 8
	clockTimeout = 2 * time.Second
	// ClockStep is the difference from which on a clock is wrong. NTP keeps clocks much closer, and a rain endures a
	// correction below it.
	ClockStep = 2 * time.Second
)

// errNoMaster means that a Cluster knows none of its masters.
var errNoMaster = errors.New("no master is known")

// Clock is the cluster's time: Redis's clock, so that all nodes have the same time despite their own clocks. It reads
// Redis every few seconds and continues with the machine's monotonic clock in between, also while Redis is away. In a
// Redis Cluster it is the median of the masters.
//
// If a clock of Redis is off by ClockStep or more, clocks vote. They are the masters, the machine, the ledger's
// database, and the time shown so far. The largest group that agrees is right. Of equal groups it is the one with the
// time shown so far, or the one with more masters.
type Clock struct {
	Recoverer *loop.Recoverer // of Run; nil: panics are logged only
	// Ledger reads the clock of the ledger's database. Nil: it has no vote.
	Ledger func(ctx context.Context) (time.Time, error)
	// Alarm is called at each Sync while a clock of Redis is wrong, and if the time changes. isNew is true when that
	// begins. Nil: it is only logged.
	Alarm func(message string, isNew bool)

	masters func(ctx context.Context, each eachClock) error
	log     *slog.Logger
	start   time.Time    // monotonic zero
	offset  atomic.Int64 // microseconds from start to Unix time on the cluster's clock

	// Of Sync, which is called by one goroutine at a time.
	synced bool
	wrong  bool // a clock of Redis was
}

// eachClock is called with a master's name and its clock.
type eachClock func(ctx context.Context, name string, ask func(ctx context.Context) (time.Time, error))

// NewClock returns a clock that shows the machine's time until the first Sync. log may be nil.
func NewClock(rdb redis.UniversalClient, log *slog.Logger) *Clock {
	s := &Store{&client{rdb: rdb}}
	return newClock(func(ctx context.Context, each eachClock) error {
		return s.EachMaster(ctx, func(ctx context.Context, addr string, master redis.Cmdable) {
			each(ctx, strings.TrimSpace("Redis "+addr), func(ctx context.Context) (time.Time, error) {
				t, err := master.Time(ctx).Result()
				return t, s.Checked(err) // a replica may have taken over
			})
		})
	}, log)
}

func newClock(masters func(ctx context.Context, each eachClock) error, log *slog.Logger) *Clock {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &Clock{masters: masters, log: log, start: time.Now()}
	c.offset.Store(c.start.UnixMicro())
	return c
}

// Now returns the time in Unix milliseconds. It is a rain.Clock.
func (c *Clock) Now() int64 { return (c.offset.Load() + time.Since(c.start).Microseconds()) / 1000 }

// reading is the answer of a clock.
type reading struct {
	name     string // of a master
	isMaster bool
	offset   time.Duration // from start to its Unix time
	way      time.Duration // round trip of the answer
}

// agrees reports whether two clocks show the same time.
func (r reading) agrees(other reading) bool { return (r.offset - other.offset).Abs() < ClockStep }

// Sync reads the time from Redis. Of several answers of a master it takes the fastest, which is wrong by at most half
// its round trip. If Redis does not answer, Sync fails and the clock goes on as before.
func (c *Clock) Sync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, clockTimeout)
	defer cancel()
	masters, err := c.readMasters(ctx)
	if err != nil {
		return fmt.Errorf("read the time from redis: %w", err)
	}
	shown := reading{offset: time.Duration(c.offset.Load()) * time.Microsecond}
	machine := reading{offset: time.Duration(time.Now().UnixMicro())*time.Microsecond - time.Since(c.start)}
	if !c.synced {
		shown = machine
	}
	right := masters
	if slices.ContainsFunc(masters, func(m reading) bool { return !m.agrees(shown) }) {
		right = c.vote(ctx, masters, machine, shown)
	}
	c.report(masters, c.follow(right, shown), shown)
	c.synced = true
	return nil
}

// readMasters reads the clocks of all masters that answer, ordered by their times. It fails if none answers.
func (c *Clock) readMasters(ctx context.Context) (all []reading, err error) {
	var mu sync.Mutex
	var errs []error
	failed := c.masters(ctx, func(ctx context.Context, name string, ask func(context.Context) (time.Time, error)) {
		one, err := c.read(ctx, name, ask)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			errs = append(errs, err)
			return
		}
		one.isMaster = true
		all = append(all, one)
	})
	if len(all) == 0 {
		return nil, cmp.Or(errors.Join(append(errs, failed)...), errNoMaster)
	}
	slices.SortFunc(all, func(a, b reading) int { return cmp.Compare(a.offset, b.offset) })
	return all, nil
}

// read asks a clock several times.
func (c *Clock) read(ctx context.Context, name string, ask func(context.Context) (time.Time, error)) (reading, error) {
	best := reading{name: name}
	for i := range clockSamples {
		sent := time.Since(c.start)
		t, err := ask(ctx)
		took := time.Since(c.start) - sent
		if err != nil {
			return best, err
		}
		if i == 0 || took < best.way {
			best.way, best.offset = took, time.Duration(t.UnixMicro())*time.Microsecond-(sent+took/2)
		}
	}
	return best, nil
}

// vote returns the largest group of clocks that agree.
func (c *Clock) vote(ctx context.Context, masters []reading, machine, shown reading) (right []reading) {
	voters := slices.Clone(masters)
	if c.Ledger != nil {
		one, err := c.read(ctx, "", c.Ledger)
		if err == nil {
			voters = append(voters, one)
		} else {
			c.log.Debug("read the time from the database", "err", err)
		}
	}
	voters = append(voters, machine)
	if c.synced {
		voters = append(voters, shown)
	}
	most := 0
	for _, one := range voters {
		group := slices.DeleteFunc(slices.Clone(voters), func(other reading) bool { return !other.agrees(one) })
		weight := 2 * len(group) * len(voters) // the rest counts only among equals
		for _, m := range group {
			switch {
			case m.isMaster:
				weight++
			case c.synced && m == shown:
				weight += len(voters)
			}
		}
		if weight > most {
			most, right = weight, group
		}
	}
	return right
}

// follow sets the clock by the clocks that are right, and returns the one that it follows: the median of the masters
// among them. Without any, the clock goes on as before; at the start it takes the time of another one.
func (c *Clock) follow(right []reading, shown reading) (by reading) {
	masters := slices.DeleteFunc(slices.Clone(right), func(r reading) bool { return !r.isMaster })
	switch {
	case len(masters) > 0:
		by = masters[(len(masters)-1)/2]
	case c.synced:
		by = shown
	default:
		by = right[0]
	}
	// The offset is kept while it may be right, so that the clock does not jitter with every reading.
	if diff := by.offset - time.Duration(c.offset.Load())*time.Microsecond; diff.Abs() > by.way/2 {
		c.offset.Store(by.offset.Microseconds())
	}
	return by
}

// report raises the alarm about masters with a wrong clock, and about a change of the cluster's time.
func (c *Clock) report(masters []reading, right, shown reading) {
	var faults []string
	isMoved := c.synced && !right.agrees(shown)
	if isMoved {
		faults = append(faults, fmt.Sprintf("the cluster's time has changed by %s, because most clocks show that time",
			signed(right.offset-shown.offset)))
	}
	for _, m := range masters {
		if !m.agrees(right) {
			faults = append(faults, fmt.Sprintf("the clock of %s is wrong by %s; redrain goes on with the time of the "+
				"other clocks, but keys of this server expire at the wrong time: correct its clock", m.name,
				signed(m.offset-right.offset)))
		}
	}
	switch {
	case len(faults) == 0:
		if c.wrong {
			c.log.Info("the clocks of Redis agree again")
		}
	case c.Alarm == nil: // at the start there is no receiver yet
		c.log.Error("a clock is wrong", "message", strings.Join(faults, "; "))
	default:
		c.Alarm(strings.Join(faults, "; "), isMoved || !c.wrong)
	}
	c.wrong = len(faults) > 0 && c.Alarm != nil
}

// signed returns a difference of clocks with its sign.
func signed(d time.Duration) string {
	d = d.Round(time.Second)
	if d > 0 {
		return "+" + d.String()
	}
	return d.String()
}

// Run reads the time again every ten seconds until ctx ends; then it returns nil. Call Sync first.
func (c *Clock) Run(ctx context.Context) error {
	return loop.Run(ctx, loop.Spec{Part: "clock", Work: "reading the time from Redis; the clock goes on without it",
		Every: clockEvery, Do: c.Sync, Recoverer: c.Recoverer, Log: c.log})
}
