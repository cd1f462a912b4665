package campaigns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/reconcile"
)

// fakeBooks is a ledger whose reconciliations are what the test says.
type fakeBooks struct {
	mu        sync.Mutex
	holder    string
	full      string // who makes a full proof
	until     time.Time
	live      []string
	found     map[string]string // campaign → what is wrong with it; "" is the ledger as a whole
	hidden    map[string]bool   // those whose fault the sums do not show
	rows      []string          // campaigns whose rows were looked at
	away      map[string]bool   // those whose Redis is away
	down      error             // the database
	slices    int               // of a second each, in a full reconciliation
	sums, all map[string]int    // by Node: campaigns looked at, and looks at everything
	forgot    map[string]int
	kept      *fakeKept // what all nodes have noted
}

func newFakeBooks(live ...string) *fakeBooks {
	f := &fakeBooks{
		live: live, found: map[string]string{}, hidden: map[string]bool{}, away: map[string]bool{},
		sums: map[string]int{}, all: map[string]int{}, forgot: map[string]int{},
	}
	f.kept = &fakeKept{last: map[string]ledger.Proof{}, books: f}
	return f
}

func (f *fakeBooks) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// nodeBooks is fakeBooks as one node sees it.
type nodeBooks struct {
	*fakeBooks
	node string
}

func (f nodeBooks) look(id string, depth reconcile.Depth) (reconcile.Reconciliation, error) {
	if f.away[id] {
		return reconcile.Reconciliation{}, fmt.Errorf("%w: connection refused", reconcile.ErrHot)
	}
	what := f.found[id]
	if what == "" || (f.hidden[id] && depth == reconcile.Sums) {
		return reconcile.Reconciliation{Balanced: true,
			Final: depth == reconcile.Rows && !slices.Contains(f.live, id)}, nil
	}
	return reconcile.Reconciliation{Difference: 7, Findings: []string{what, "more"}, Fingerprint: what}, nil
}

func (f nodeBooks) ReconcileWith(
	_ context.Context,
	id string,
	_ reconcile.Hot,
	depth reconcile.Depth,
) (reconcile.Reconciliation,
	error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sums[f.node]++
	if depth == reconcile.Rows {
		f.rows = append(f.rows, id)
	}
	if f.down != nil {
		return reconcile.Reconciliation{}, f.down
	}
	return f.look(id, depth)
}

func (f nodeBooks) ReconcileFull(ctx context.Context, _ reconcile.Hot, o reconcile.FullOptions) (reconcile.Books,
	error) {
	for range f.slices {
		time.Sleep(time.Second) //nolint:forbidigo // in a bubble, where time is not waited for
		if o.Pause == nil {
			continue
		}
		if err := o.Pause(ctx, time.Second); err != nil {
			return reconcile.Books{}, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all[f.node]++
	if f.down != nil {
		return reconcile.Books{}, f.down
	}
	for _, id := range append(slices.Clone(f.live), "drained") {
		if r, err := f.look(id, reconcile.Rows); o.Each != nil {
			o.Each(id, r, err)
		}
	}
	b := reconcile.Books{Balanced: f.found[""] == "", CheckedAt: 1}
	if what := f.found[""]; what != "" {
		b.Findings, b.Fingerprint = []string{what}, what
	}
	return b, nil
}

func (f nodeBooks) ForgetReconciliations() { f.set(func() { f.forgot[f.node]++ }) }

func (f nodeBooks) LiveIDs(context.Context) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.live), f.down
}

func (f nodeBooks) Lease(_ context.Context, name, holder string, ttl time.Duration) (ledger.Tenure, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if name == fullLease {
		if f.full != "" && f.full != holder {
			return ledger.Tenure{}, f.down
		}
		f.full = holder
		return ledger.Tenure{Term: 1}, f.down
	}
	if name != reconcileLease || (f.holder != holder && time.Now().Before(f.until)) {
		return ledger.Tenure{}, f.down
	}
	f.holder, f.until = holder, time.Now().Add(ttl)
	return ledger.Tenure{Term: 1}, f.down
}

func (f nodeBooks) ReleaseLease(_ context.Context, _, holder string) error {
	f.set(func() {
		if f.holder == holder {
			f.until = time.Now()
		}
		if f.full == holder {
			f.full = ""
		}
	})
	return nil
}

// reconcilerAt runs a node's reconciler, a round each minute. heard is its alarms and its log lines, since it was
// asked last.
func reconcilerAt(t *testing.T, f *fakeBooks, node string) (heard func() []string, stop func()) {
	t.Helper()
	var mu sync.Mutex
	var lines []string
	say := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}
	log := slog.New(slog.NewTextHandler(lineWriter(say),
		&slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
	books := nodeBooks{f, node}
	r := NewProofs(ProofsOptions{
		Books: books, Campaigns: books, Leases: books, Node: node, Every: time.Minute, Share: 0.5,
		Kept:  f.kept,
		Log:   log,
		Alarm: func(code, campaign, message string) { say("alarm " + code + " of " + campaign + ": " + message) },
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	synctest.Wait()
	heard = func() []string {
		mu.Lock()
		defer mu.Unlock()
		said := lines
		lines = nil
		return said
	}
	return heard, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

type lineWriter func(string)

func (w lineWriter) Write(p []byte) (int, error) {
	w(strings.TrimSpace(string(p)))
	return len(p), nil
}

func minutes(n int) {
	time.Sleep(time.Duration(n) * time.Minute) //nolint:forbidigo // in a bubble, where time is not waited for
	synctest.Wait()
}

func TestReconcilerSaysOnceWhatIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeBooks("c1", "c2")
		heard, stop := reconcilerAt(t, f, "a")
		defer stop()
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
		f.set(func() { f.live, f.rows = []string{"c1"}, nil })
		minutes(2)
		expect("one is drained")
		if !slices.Equal(f.rows, []string{"c2"}) {
			t.Errorf("rows were looked at of %q, want those of the drained one, once", f.rows)
		}
		f.set(func() {
			f.found[""] = "transaction 3"
			f.found["drained"] = "packet 1"
		})
		minutes(24 * 60)
		expect("the next night", `finding="packet 1"`, "finding=more", "alarm reconciliation of drained: ",
			"all books were reconciled", `finding="transaction 3"`,
			"alarm reconciliation of : the books do not balance: transaction 3")
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
		heardA, stopA := reconcilerAt(t, f, "a")
		heardB, stopB := reconcilerAt(t, f, "b")
		defer stopB()
		minutes(25)
		if len(heardA()) == 0 || f.sums["a"] != 25 || f.all["a"] != 1 || f.sums["b"] != 0 || f.all["b"] != 0 {
			t.Errorf("sums %v, all %v, forgot %v", f.sums, f.all, f.forgot)
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
		of := func(node string) *Proofs {
			books := nodeBooks{f, node}
			return NewProofs(ProofsOptions{Books: books, Campaigns: books, Leases: books, Node: node,
				Log: slog.New(slog.DiscardHandler), Alarm: func(string, string, string) {}})
		}
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
