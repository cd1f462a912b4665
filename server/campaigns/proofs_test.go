package campaigns

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/testenv"
)

func TestReconcilerSaysOnceWhatIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeBooks("c1", "c2")
		p, heard, _ := reconcilerAt(t, f, "a")
		figures := func(difference, findings float64) {
			t.Helper()
			testenv.Equal(t, testutil.ToFloat64(p.difference), difference, "difference")
			testenv.Equal(t, testutil.ToFloat64(p.findings), findings, "findings")
		}
		expect := func(what string, want ...string) {
			t.Helper()
			got := heard()
			ok := len(got) == len(want)
			for i := range want {
				ok = ok && strings.Contains(got[i], want[i])
			}
			if !ok {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		minutes(3)
		expect("all is well", "all books were reconciled")
		f.set(func() { f.found["c2"] = "packet 7" })
		minutes(2)
		expect(
			"something is wrong",
			`finding="packet 7"`,
			"finding=more",
			"alarm reconciliation of c2: the books do not balance: the difference is 0.07; packet 7; and 1 more "+
				"findings",
		)
		figures(7, 2)
		f.set(func() { f.found["c2"] = "packet 8" })
		minutes(2)
		expect("something else is wrong", `finding="packet 8"`, "finding=more", "alarm reconciliation of c2: ")
		f.set(func() { f.hidden["c2"] = true })
		minutes(1)
		expect("only the sums are mended")
		f.set(func() { f.away["c2"] = true })
		minutes(1)
		expect("Redis is away", "cannot be read: connection refused")
		f.set(func() {
			delete(f.away, "c2")
			delete(f.found, "c2")
		})
		minutes(1)
		expect("mended", `msg="the books balance again" campaign=c2`, `msg="works again"`)
		figures(0, 0)
		f.set(func() { f.live, f.rows = []string{"c1"}, nil })
		minutes(2)
		expect("one is drained")
		testenv.Equal(t, f.rows, []string{"c2"}, "rows of the drained one, once")
		f.set(func() {
			f.found[""] = "transaction 3"
			f.found["drained"] = "packet 1"
		})
		minutes(24 * 60)
		expect("the next night", `finding="packet 1"`, "finding=more", "alarm reconciliation of drained: ",
			"all books were reconciled", `finding="transaction 3"`,
			"alarm reconciliation of : the books do not balance: transaction 3")
		figures(7, 3)
		f.set(func() { delete(f.found, "drained") })
		minutes(1)
		expect("the drained one is mended", `msg="the books balance again" campaign=drained`)
		f.set(func() { delete(f.found, "") })
		minutes(24 * 60)
		expect("the ledger is mended", "all books were reconciled", `msg="the books balance again" campaign=""`)
		f.set(func() { f.down = errors.New("gone away") })
		minutes(3)
		if got := heard(); len(got) == 0 || slices.ContainsFunc(got,
			func(s string) bool { return strings.HasPrefix(s, "alarm") }) {
			t.Errorf("the database is away: %q", got)
		}
	})
}

func TestOneNodeReconciles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeBooks("c1")
		f.found["c1"] = "packet 7"
		_, heardA, stopA := reconcilerAt(t, f, "a")
		_, heardB, _ := reconcilerAt(t, f, "b")
		minutes(25)
		if len(heardA()) == 0 || f.sums["a"] != 25 || f.all["a"] != 1 || f.sums["b"] != 0 || f.all["b"] != 0 {
			t.Errorf("sums %v, all %v", f.sums, f.all)
		}
		if said := heardB(); len(said) != 0 {
			t.Errorf("the other node has said %q", said)
		}
		stopA()
		f.set(func() { f.found["c1"] = "packet 8" })
		minutes(2)
		if len(heardB()) == 0 || f.sums["b"] == 0 {
			t.Errorf("the heir does not work: sums %v", f.sums)
		}
	})
}

// TestOneFullProofAtATime is for operators: one in the whole cluster.
func TestOneFullProofAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeBooks()
		f.slices = 10
		of := func(node string) *Proofs { p, _ := proofsOf(f, node); return p }
		var first sync.WaitGroup
		first.Go(func() {
			if books, err := of("a").Full(t.Context(), nil); err != nil || !books.Balanced {
				t.Errorf("%+v, %v", books, err)
			}
		})
		sleepInBubble(time.Second)
		testenv.WantErr(t, testenv.Err(of("b").Full(t.Context(), nil)), ErrFullProof, "two at once")
		first.Wait()
		if books, err := of("b").Full(t.Context(), nil); err != nil || !books.Balanced {
			t.Errorf("%+v, %v", books, err)
		}
	})
}

// TestADrainedCampaignIsProvedByRow: once, and again after an error, also by another node.
func TestADrainedCampaignIsProvedByRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeBooks("c1", "c2")
		_, _, stop := reconcilerAt(t, f, "a")
		minutes(2)
		f.set(func() { f.live, f.away["c2"], f.rows = []string{"c1"}, true, nil })
		minutes(2)
		stop()
		f.set(func() {
			testenv.Equal(t, f.rows, []string{"c2", "c2"}, "looks at rows")
			f.rows = nil
			delete(f.away, "c2")
		})
		reconcilerAt(t, f, "b")
		minutes(5)
		f.set(func() {
			testenv.Equal(t, f.rows, []string{"c2"}, "looks at rows after a restart")
		})
	})
}

// TestAnOperatorsRunRaisesAlarms: it counts as the nightly one. Without the lease the metrics do not show it.
func TestAnOperatorsRunRaisesAlarms(t *testing.T) {
	t.Parallel()
	f := newFakeBooks("c1")
	f.found["drained"] = "packet 1"
	p, heard := proofsOf(f, "a")
	testenv.Must(t, testenv.Err(p.Full(t.Context(), nil)))
	said := heard()
	if len(said) != 3 || !strings.HasPrefix(said[2], "alarm reconciliation of drained: ") ||
		testutil.ToFloat64(p.findings) != 0 || f.last["drained"].Findings != 2 {
		t.Errorf("said %q, noted %+v", said, f.last)
	}
}

// TestProofsThatGrowOldAreAnAlarm: on each node, also on one that does not prove, once until more are late, or again
// late. A campaign that alone cannot be proved, because its Redis is away, is such a one.
func TestProofsThatGrowOldAreAnAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeBooks("c1", "c2")
		f.stuck = make(chan struct{})
		a, heardA, _ := reconcilerAt(t, f, "a")
		b, heardB, _ := reconcilerAt(t, f, "b")
		// expect compares the alarms of each node.
		expect := func(what string, want ...string) {
			t.Helper()
			for node, heard := range map[string]func() []string{"a": heardA, "b": heardB} {
				said := slices.DeleteFunc(heard(), func(s string) bool { return !strings.HasPrefix(s, "alarm ") })
				slices.Sort(said)
				if len(said) != len(want) {
					t.Errorf("%s: node %s has said %q", what, node, said)
					continue
				}
				for i := range want {
					if !strings.HasPrefix(said[i], "alarm reconciliation of "+want[i]) {
						t.Errorf("%s: node %s has said %q", what, node, said)
					}
				}
			}
		}
		const campaign = ": the books of the campaign were reconciled last at 2000-01-03T"
		minutes(47 * 60)
		if expect("too early"); a.Proved().Stale || b.Proved().Stale || b.Proved().Oldest == 0 {
			t.Errorf("too early: %+v", b.Proved())
		}
		minutes(2 * 60) // everything is being proved for two days, and the live campaigns all the time
		expect("everything is late", ": all books were reconciled last at never")
		close(f.stuck)
		minutes(11)
		if expect("proved"); a.Proved().Stale || b.Proved().Everything.ProvedAt == 0 {
			t.Errorf("proved: %+v", b.Proved())
		}
		f.set(func() { f.away["c2"] = true })
		minutes(15)
		expect("the Redis of one is away", "c2"+campaign)
		f.set(func() { f.down = errors.New("gone away") })
		minutes(15)
		expect("the proofs have stopped", "c2"+campaign)
		f.set(func() { delete(f.away, "c2") })
		f.set(func() { f.down = nil })
		minutes(12)
		if expect("proved again"); a.Proved().Stale {
			t.Errorf("proved again: %+v", a.Proved())
		}
	})
}
