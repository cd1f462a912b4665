package pipeline

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/payout/paytest"
)

const (
	benchWorkers = 8
	benchBatch   = 500
	benchEntry   = 50
	benchKnown   = 80_000 // players who have won before
	benchNow     = 1_763_712_000_000
)

// contender is one way of settling wins. They take turns, round after round, so that whatever else the machine does
// meets all of them.
type contender struct {
	name   string
	round  int                       // wins of a turn: about two seconds
	fill   func(b *testing.B, n int) // makes the next n wins ready to be settled; nil for nothing. It is not measured
	settle func(b *testing.B, n int) // settles them
	meet   func(b *testing.B)        // makes accounts for the known players; nil: they win once
	parts  []part                    // whose processor time counts
	took   time.Duration
	done   int
}

// part is a process that takes part in settling.
type part struct {
	name string
	proc string // its directory in /proc
	used *time.Duration
}

func (c *contender) takesPart(name, proc string) {
	c.parts = append(c.parts, part{name, proc, new(time.Duration)})
}

// turn settles the next wins.
func (c *contender) turn(b *testing.B, wins int) {
	b.Helper()
	if c.fill != nil {
		c.fill(b, wins)
	}
	c.measured(b, wins)
}

// measured settles wins that are ready.
func (c *contender) measured(b *testing.B, wins int) {
	b.Helper()
	before := make([]time.Duration, len(c.parts))
	for i, p := range c.parts {
		before[i] = processorTime(b, p.proc)
	}
	start := time.Now()
	c.settle(b, wins)
	c.took += time.Since(start)
	for i, p := range c.parts {
		*p.used += processorTime(b, p.proc) - before[i]
	}
	c.done += wins
	if b.Failed() {
		b.FailNow()
	}
}

func (c *contender) forget() {
	c.took, c.done = 0, 0
	for _, p := range c.parts {
		*p.used = 0
	}
}

// rate is wins per second.
func (c *contender) rate() float64 { return float64(c.done) / c.took.Seconds() }

// cost is the processor time of a win in microseconds, all processes together.
func (c *contender) cost() (sum float64) {
	for _, p := range c.parts {
		sum += c.share(p)
	}
	return sum
}

// reportShares tells the processor time of a win for each process.
func (c *contender) reportShares(b *testing.B) {
	b.Helper()
	for _, p := range c.parts {
		b.ReportMetric(c.share(p), p.name+"-µs/win")
	}
}

func (c *contender) share(p part) float64 {
	return float64(p.used.Nanoseconds()) / 1000 / float64(c.done)
}

// contest lets contenders take turns and reports what became of each. Before, known players win a first time.
func contest(b *testing.B, known bool, all ...*contender) {
	b.Helper()
	for _, c := range all {
		switch {
		case known && c.meet != nil:
			c.meet(b)
		case known:
			c.turn(b, benchKnown)
		}
		c.forget()
	}
	b.ResetTimer()
	for b.Loop() {
		for _, c := range all {
			c.turn(b, c.round)
		}
	}
	b.ReportMetric(0, "ns/op") // of all together, which says nothing
	for _, c := range all {
		b.ReportMetric(c.rate(), c.name+"-wins/s")
		b.ReportMetric(c.cost(), c.name+"-cpu-µs/win")
	}
}

// inParallel settles n wins with eight workers, step at a time; one settles the wins from first on, counted from 0.
func inParallel(step int, next *atomic.Int64, one func(first int) error) func(*testing.B, int) {
	return func(b *testing.B, n int) {
		b.Helper()
		end := next.Load() + int64(n)
		var wg sync.WaitGroup
		for range benchWorkers {
			wg.Go(func() {
				for {
					last := next.Add(int64(step))
					if last > end {
						return
					}
					if err := one(int(last) - step); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		next.Store(end)
	}
}

// processorTime is what a process has used so far.
func processorTime(b *testing.B, proc string) (sum time.Duration) {
	b.Helper()
	stat, err := os.ReadFile(proc + "/stat")
	if err != nil {
		b.Skip("this benchmark reads /proc:", err)
	}
	// from the third on: the name may have spaces
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	for _, field := range fields[11:13] { // utime, stime
		ticks, err := strconv.Atoi(field)
		paytest.Must(b, err)
		sum += time.Duration(ticks) * 10 * time.Millisecond
	}
	return sum
}

const self = "/proc/self"

// serverOf finds a database's process.
func serverOf(b *testing.B, db *sqldb.DB) string {
	b.Helper()
	var file string
	paytest.Must(b, testenv.Err(db.First(b.Context(), []any{&file}, "SELECT @@pid_file")))
	pid, err := os.ReadFile(file)
	paytest.Must(b, err)
	return "/proc/" + strings.TrimSpace(string(pid))
}
