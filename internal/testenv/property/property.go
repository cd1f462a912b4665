// Package property checks properties with slow single checks.
package property

import (
	"context"
	"flag"
	"os"
	"testing"

	"pgregory.net/rapid"

	"redrain/internal/testenv"
)

// Check is rapid.Check. Under the race detector a check takes several times as long, so it makes only the given number
// of checks, and each run draws others. With -nightly it makes all. The flag -rapid.checks, or RAPID_CHECKS, takes
// precedence.
func Check(t *testing.T, watched int, prop func(*rapid.T)) {
	t.Helper()
	if isWatched() {
		few(t, watched, prop)
		return
	}
	rapid.Check(t, prop)
}

// CheckFew is [Check] for a property whose checks take most of a second each. It makes the given number of checks
// without the race detector, too.
func CheckFew(t *testing.T, checks, watched int, prop func(*rapid.T)) {
	t.Helper()
	if isWatched() {
		checks = watched
	}
	few(t, checks, prop)
}

func isWatched() bool { return testenv.Race && !testenv.Covers(testenv.Nightly) }

func few(t *testing.T, checks int, prop func(*rapid.T)) {
	t.Helper()
	if asked() {
		rapid.Check(t, prop)
		return
	}
	t.Logf("property: %d checks are made", checks)
	rapid.Check(t, first(checks, prop))
}

// first is prop for the first n checks. Later checks pass without a run. After a failure all later checks run: they
// find the shortest one that fails.
func first(n int, prop func(*rapid.T)) func(*rapid.T) {
	made, failed := 0, false
	return func(rt *rapid.T) {
		if made >= n && !failed {
			return
		}
		ended := false
		defer func() { failed = failed || !ended || rt.Failed() }()
		prop(rt)
		made++
		ended = true
	}
}

func asked() bool {
	checks := flag.Lookup("rapid.checks")
	_, env := os.LookupEnv("RAPID_CHECKS")
	return env || checks.Value.String() != checks.DefValue
}

// TB returns one check as a test. An error of a test helper fails this check, which rapid shows with its seed. Cleanups
// run at the end of the check.
func TB(t testing.TB, rt *rapid.T) testing.TB {
	t.Helper()
	return &check{t, rt}
}

type check struct {
	testing.TB // of the test with all checks: names, directories, and rare methods

	rt *rapid.T
}

func (c *check) Helper()                           {}
func (c *check) Context() context.Context          { return c.rt.Context() }
func (c *check) Cleanup(end func())                { c.rt.Cleanup(end) }
func (c *check) Log(args ...any)                   { c.rt.Log(args...) }
func (c *check) Logf(format string, args ...any)   { c.rt.Logf(format, args...) }
func (c *check) Error(args ...any)                 { c.rt.Error(args...) }
func (c *check) Errorf(format string, args ...any) { c.rt.Errorf(format, args...) }
func (c *check) Fatal(args ...any)                 { c.rt.Fatal(args...) }
func (c *check) Fatalf(format string, args ...any) { c.rt.Fatalf(format, args...) }
func (c *check) Fail()                             { c.rt.Fail() }
func (c *check) FailNow()                          { c.rt.FailNow() }
func (c *check) Failed() bool                      { return c.rt.Failed() }
