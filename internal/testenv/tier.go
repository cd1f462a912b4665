package testenv

import (
	"flag"
	"os"
	"testing"

	"redrain/internal/testenv/testrun"
)

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
