package testenv

import (
	"context"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv/testrun"
)

// Loads of a test while it runs alone with the race detector, servers included: processors times
// [testrun.PerProcessor], on average, rounded up.
const (
	Light  = 1 // one node, or a few players
	Medium = 2 // servers of its own or a browser's page
	Heavy  = 3 // processes that are killed and started again, a cluster, hundreds of players

	Alone = math.MaxInt32 // measures the time that a person waits: all processors
)

// longest is the limit of a test in its slot. A test that hangs would delay all others until the limit of go test. The
// panic names it and prints all goroutines.
const longest = 12 * time.Minute

// scheduler grants the slots: the one of tools/test, or one of this test binary's own.
var scheduler = connectScheduler()

type acquirer interface {
	Acquire(ctx context.Context, r testrun.Request) (release func(), err error)
}

func connectScheduler() acquirer {
	if path := os.Getenv(testrun.SlotsVariable); path != "" {
		return testrun.Connect(path)
	}
	return testrun.ForMachine()
}

// SideBySide lets more tests of this binary run in parallel than there are processors. It is for packages whose tests
// mostly wait for servers, leases or the clock. Every test of such a package calls [Parallel], which keeps the machine
// from being overloaded. SideBySide is called before [Main]. The flag -parallel takes precedence.
func SideBySide() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return
	}
	const enough = 64 // more than any machine has slots
	if err := flag.Set("test.parallel", strconv.Itoa(enough)); err != nil {
		panic(err)
	}
}

// Parallel is t.Parallel for a test, or a subtest, that loads the machine: it waits for a slot. A test calls it once,
// as its first step; a parent of subtests that call it calls t.Parallel itself. With -short nothing waits: tests have
// no servers of their own, and load little.
func Parallel(t *testing.T, load int) {
	t.Helper()
	parallel(t, testrun.Request{Load: load})
}

// ParallelBrowser is [Parallel] for a test in a browser. It does not run beside one of [ParallelFailover].
func ParallelBrowser(t *testing.T, load int) {
	t.Helper()
	parallel(t, testrun.Request{Load: load, Kind: testrun.Browser})
}

// ParallelFailover is [Parallel] for a test whose servers declare each other dead after a silence of two seconds. It
// does not run beside one of [ParallelBrowser].
func ParallelFailover(t *testing.T, load int) {
	t.Helper()
	parallel(t, testrun.Request{Load: load, Kind: testrun.Failover})
}

func parallel(t *testing.T, r testrun.Request) {
	t.Helper()
	t.Parallel()
	if testing.Short() {
		return
	}
	r.Name = strings.TrimSuffix(filepath.Base(os.Args[0]), ".test") + "." + t.Name()
	began := time.Now()
	release, err := scheduler.Acquire(context.Background(), r)
	Must(t, err)
	t.Logf("testenv: waited for a slot: %v", time.Since(began).Round(time.Millisecond)) // tools/test reads this line
	hangs := time.AfterFunc(longest, func() { panic(t.Name() + " hangs: it has run for " + longest.String()) })
	t.Cleanup(func() { hangs.Stop(); release() })
}

// Tiers that a test names in [RunsFrom].
const (
	All     = testrun.All
	Nightly = testrun.Nightly
)

// RunsFrom skips the test in runs that cover less than the given tier. A plain `go test -run TestName` skips nothing.
func RunsFrom(t T, tier testrun.Tier) {
	t.Helper()
	isNamed := os.Getenv(testrun.TierVariable) == "" && flag.Lookup("test.run").Value.String() != ""
	if testing.Short() || !isNamed && !Covers(tier) {
		t.Skipf("only with -%s", tier)
	}
}

// Covers reports whether this run covers a tier.
func Covers(tier testrun.Tier) bool {
	return !testing.Short() && testrun.FromEnvironment().Includes(tier)
}
