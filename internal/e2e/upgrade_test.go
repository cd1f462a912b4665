package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"redrain/internal/testenv"
)

// olderCommit is the version that this tree's nodes must run beside: the last release. There is none yet, so it is a
// commit on the way to 0.1.0 with the same tables. Set it to the tag of each release.
const olderCommit = "ca5a13bfdbd72c3e8bb5b855549d2e46819089b2"

// TestNodesOfTwoVersions replaces two nodes in a rain, one after the other, by nodes of the other version: an upgrade,
// and the way back. A campaign that the first version made, and one that the second made while both ran, are played on
// both. Each tap is answered, and each reported win is in the ledger.
func TestNodesOfTwoVersions(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly)
	t.Parallel()
	older := binaryOf(t, olderCommit)
	for name, binaries := range map[string][2]string{"upgrade": {older, ""}, "rollback": {"", older}} {
		t.Run(name, func(t *testing.T) {
			testenv.ParallelFailover(t, testenv.Medium)
			replaceNodes(t, binaries[0], binaries[1])
		})
	}
}

func replaceNodes(t *testing.T, before, after string) {
	t.Helper()
	a := &arena{t: t, s: realSetting(t)}
	start := func(i int, binary string) {
		t.Helper()
		p := startProcessWith(t, processOptions{binary: binary, flags: a.s.flags(), log: &nodeLog{t: t, node: i}})
		a.mu.Lock()
		defer a.mu.Unlock()
		a.nodes[i] = p
	}
	crowdAt := func(i int, name string) *crowd {
		t.Helper()
		n := a.node(i).node
		spec := fund(t, n, name, 1_000_000, 20_000)
		spec.WinsPerUser, spec.Shards = spec.Packets, 2
		c := createCampaign(t, n.client, spec)
		startRain(t, n.client, c.ID, longRain(16))
		return gather(t, a, c.ID, 6)
	}

	start(0, before)
	start(1, before)
	crowds := []*crowd{crowdAt(0, "before")}
	crowds[0].awaitReported(enough)
	a.drainNode(0)
	start(0, after)
	crowds = append(crowds, crowdAt(0, "beside"))
	for _, c := range crowds {
		c.awaitReported(enough)
	}
	a.drainNode(1)
	start(1, after)
	for _, c := range crowds {
		c.awaitReported(enough)
		c.disperse()
		awaitBooks(t, a.op(), c.campaign)
		inLedger := claimsOf(t, a.op(), c.campaign)
		for claim, win := range c.wins(t) {
			if got := inLedger[claim]; got.User != win.user || got.Amount != win.amount || got.State != "settled" {
				t.Errorf("%s was notified of %s, %v; the ledger has %+v", win.user, claim, win.amount, got)
			}
		}
		t.Logf("%s: %d wins, %d in the ledger, %d connections lost", c.campaign, c.reported.Load(), len(inLedger),
			c.lost.Load())
	}
}

// binaryOf builds the program of a commit, with fault points as this tree's.
func binaryOf(t *testing.T, commit string) string {
	t.Helper()
	module := testenv.Got(testenv.ModuleDir()).Must(t)
	dir := t.TempDir()
	tree, archive := filepath.Join(dir, "tree"), filepath.Join(dir, "tree.tar")
	if out, err := exec.Command("git", "-C", module, "archive", "-o", archive, commit).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: this tree has no history with the commit %s: %s", commit, out)
	}
	testenv.Must(t, os.Mkdir(tree, 0o700))
	binary := filepath.Join(dir, "redrain")
	for _, args := range [][]string{
		{"tar", "-xf", archive, "-C", tree},
		{"go", "build", "-C", tree, "-trimpath", "-buildvcs=false", "-tags", "faults", "-o", binary, "."},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	return binary
}
