package testrun

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Tier is the coverage of a run of the tests. A larger one includes the smaller ones.
type Tier string

// The tiers, as the flags of tools/test name them. Plain go test is Default, and with -short it is Quick.
const (
	Quick   Tier = "quick"   // in-process back ends
	Default Tier = "default" // real back ends: every package, and one end-to-end rain on each set of back ends
	All     Tier = "all"     // fault matrices, crash points, the pages in their states, the race detector: what CI runs
	Nightly Tier = "nightly" // soaks, hostile traffic for minutes, every cell of every matrix
)

// TierVariable is the environment variable with the [Tier] of a run. Empty means [Default].
const TierVariable = "REDRAIN_TEST_TIER"

var rank = map[Tier]int{Quick: 0, Default: 1, All: 2, Nightly: 3}

// FromEnvironment returns the tier of this run. It panics if there is no such tier: a typing error must not skip tests.
func FromEnvironment() Tier {
	t := cmp.Or(Tier(os.Getenv(TierVariable)), Default)
	if _, ok := rank[t]; !ok {
		panic(TierVariable + ": unknown tier " + string(t))
	}
	return t
}

// Includes reports whether a run of this tier covers what another one covers.
func (t Tier) Includes(other Tier) bool { return rank[t] >= rank[other] }

// BuildDir returns a folder for the builds of a checkout's tests. It stays between runs, so that the go command links
// only changed programs. The folders of checkouts that have run no tests for a week are removed.
func BuildDir(checkout string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	all := filepath.Join(cache, "redrain-tests")
	old, _ := os.ReadDir(all)
	for _, d := range old {
		if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > 7*24*time.Hour {
			_ = os.RemoveAll(filepath.Join(all, d.Name())) // another run may do the same
		}
	}
	dir := filepath.Join(all, fmt.Sprintf("%x", sha256.Sum256([]byte(checkout)))[:12])
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	now := time.Now()
	return dir, os.Chtimes(dir, now, now)
}
