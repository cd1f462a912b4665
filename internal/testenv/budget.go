package testenv

import (
	"context"
	"flag"
	"math"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"
)

// Loads of a test while it runs, in parts of [budgetPerProcessor]: how much of a processor it keeps busy on average,
// its servers included. They are measured figures, rounded up; what waits costs nothing.
const (
	Light  = 1 // one node, or a few players
	Medium = 2 // servers of its own or a browser's page
	Heavy  = 4 // processes that are killed and started again, a cluster, hundreds of players

	Alone = math.MaxInt64 // what measures the time that a person waits: all of the budget
)

// budgetPerProcessor is how much of that a processor gets. The race detector makes everything cost a multiple, and go
// test runs another package beside: with as much for each test its servers would be away for seconds, and time-outs
// that mean something would mean nothing.
func budgetPerProcessor() int {
	if Race {
		return 3
	}
	return 4
}

// longest is how long a test may hold its part of the budget. One that hangs would keep all others waiting until go
// test's own limit, and nobody would know which it was: the panic names it, and shows what every goroutine waits for.
const longest = 12 * time.Minute

// budget is what the tests of this binary may load the machine with at once. Those that do not fit in wait in the
// order in which they came, so that none starves.
var (
	budgetSize = int64(budgetPerProcessor() * max(2, runtime.GOMAXPROCS(0)))
	budget     = semaphore.NewWeighted(budgetSize)
)

// SideBySide lets more tests of this binary run in parallel than there are processors, for packages whose tests mostly
// wait: for servers, for leases, for the clock. Their [Parallel] keeps the machine from being overloaded. It is called
// before [Main]. Who runs the tests has the last word, with -parallel.
func SideBySide() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return
	}
	const enough = 64 // more than the budget holds
	if err := flag.Set("test.parallel", strconv.Itoa(enough)); err != nil {
		panic(err)
	}
}

// Parallel is t.Parallel for a test, or a subtest, that loads the machine: it waits until there is room for the load.
// A test takes it once, as its first step; a parent of subtests that take it calls t.Parallel itself.
// With -short nothing waits: a test has no servers of its own, and loads little.
func Parallel(t *testing.T, load int64) {
	t.Helper()
	t.Parallel()
	if testing.Short() {
		return
	}
	load = min(load, budgetSize)
	began := time.Now()
	if err := budget.Acquire(context.Background(), load); err != nil {
		t.Fatal(err) // never: the context does not end
	}
	hangs := time.AfterFunc(longest, func() { panic(t.Name() + " hangs: it has run for " + longest.String()) })
	t.Cleanup(func() { hangs.Stop(); budget.Release(load) })
	t.Logf("testenv: waited for room for %v", time.Since(began).Round(time.Millisecond))
}
