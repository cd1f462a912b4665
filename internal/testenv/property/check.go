package property

import (
	"context"
	"testing"

	"pgregory.net/rapid"
)

// TB is one check as a test: what helpers of tests find wrong is a failure of this check, which rapid then shows with
// its seed, and what they make ends with this check.
func TB(t testing.TB, rt *rapid.T) testing.TB {
	t.Helper()
	return &check{t, rt}
}

type check struct {
	testing.TB // of the test with all checks: names, directories, and what is seldom needed

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
