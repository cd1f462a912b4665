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

	"redrain/payout/reconcile"
	"redrain/rain"
)

// fakeBooks is a ledger whose reconciliations are what the test says.
type fakeBooks struct {
	mu        sync.Mutex
	holder    string
	until     time.Time
	live      []string
	found     map[string]string // campaign → what is wrong with it; "" is the ledger as a whole
	hidden    map[string]bool   // those whose fault the sums do not show
	slow      time.Duration     // how long a look at rows takes
	away      map[string]bool   // those whose Redis is away
	down      error             // the database
	sums, all map[string]int    // by Node: campaigns looked at, and looks at everything
	forgot    map[string]int
}

func newFakeBooks(live ...string) *fakeBooks {
	return &fakeBooks{
		live: live, found: map[string]string{}, hidden: map[string]bool{}, away: map[string]bool{},
		sums: map[string]int{}, all: map[string]int{}, forgot: map[string]int{},
	}
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
		return reconcile.Reconciliation{Balanced: true}, nil
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
	if f.slow > 0 && depth == reconcile.Rows {
		time.Sleep(f.slow) //nolint:forbidigo // in a bubble, where time is not waited for
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sums[f.node]++
	if f.down != nil {
		return reconcile.Reconciliation{}, f.down
	}
	return f.look(id, depth)
}

func (f nodeBooks) ReconcileAll(_ context.Context, _ reconcile.Hot,
	each func(string, reconcile.Reconciliation, error)) (reconcile.Books, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all[f.node]++
	if f.down != nil {
		return reconcile.Books{}, f.down
	}
	for _, id := range append(slices.Clone(f.live), "drained") {
		r, err := f.look(id, reconcile.Rows)
		each(id, r, err)
	}
	var b reconcile.Books
	if what := f.found[""]; what != "" {
		b.Findings, b.Fingerprint = []string{what}, what
	}
	return b, nil
}

func (f nodeBooks) ForgetReconciliations() { f.set(func() { f.forgot[f.node]++ }) }

func (f nodeBooks) Live(context.Context) ([]*rain.Campaign, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]*rain.Campaign, 0, len(f.live))
	for _, id := range f.live {
		list = append(list, &rain.Campaign{ID: id})
	}
	return list, f.down
}

func (f nodeBooks) Lease(_ context.Context, name, holder string, ttl time.Duration) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if name != reconcileLease || (f.holder != holder && time.Now().Before(f.until)) {
		return false, f.down
	}
	f.holder, f.until = holder, time.Now().Add(ttl)
	return f.down == nil, f.down
}

func (f nodeBooks) ReleaseLease(_ context.Context, _, holder string) error {
	f.set(func() {
		if f.holder == holder {
			f.until = time.Now()
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
		Books: books, Campaigns: books, Leases: books, Node: node, Every: time.Minute, Log: log,
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
		expect("all is well")
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
		minutes(1) // eight rounds up to here
		expect("only the sums are mended")
		f.set(func() { f.away["c2"] = true })
		minutes(1)
		expect("Redis is away", "cannot be read: connection refused")
		f.set(func() {
			delete(f.away, "c2")
			delete(f.found, "c2")
			f.found[""] = "transaction 3"
			f.found["drained"] = "packet 1"
		})
		minutes(1) // the tenth
		expect("everything is looked at", `campaign=c2`, `finding="packet 1"`, "finding=more",
			"alarm reconciliation of drained: ",
			`finding="transaction 3"`, "alarm reconciliation of : the books do not balance: transaction 3",
			`msg="works again"`)
		minutes(1)
		expect("the drained one is looked at again, without a word")
		f.set(func() { delete(f.found, "drained") })
		minutes(1)
		expect("and is healed", `msg="the books balance again" campaign=drained`)
		f.set(func() { delete(f.found, "") })
		minutes(8) // the twentieth
		expect("the ledger is healed", `msg="the books balance again" campaign=""`)
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
		if len(heardA()) == 0 || len(heardB()) != 0 || f.sums["a"] != 23+25*quickRounds || f.all["a"] != 2 ||
			f.sums["b"]+f.all["b"] != 0 || f.forgot["b"] != 25 || f.forgot["a"] != 0 {
			t.Errorf("sums %v, all %v, forgot %v", f.sums, f.all, f.forgot)
		}
		stopA()
		minutes(2)
		if len(heardB()) == 0 || f.sums["b"] == 0 {
			t.Errorf("the heir does not work: sums %v", f.sums)
		}
	})
}

// TestWhatTheSumsDoNotShowIsNamedInSeconds: with the schedule of a minute, the rows of the live campaigns are looked at
// all the time.
func TestWhatTheSumsDoNotShowIsNamedInSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeBooks("c1", "c2")
		f.hidden["c2"] = true
		heard, stop := reconcilerAt(t, f, "a")
		defer stop()
		minutes(1)
		f.set(func() { f.found["c2"] = "packet 7" })
		sleepInBubble(6 * time.Second)
		if got := strings.Join(heard(), "\n"); strings.Count(got, "alarm reconciliation of c2") != 1 {
			t.Errorf("heard %s", got)
		}
		f.set(func() { delete(f.found, "c2") })
		sleepInBubble(6 * time.Second)
		if got := strings.Join(heard(), "\n"); !strings.Contains(got, `msg="the books balance again" campaign=c2`) {
			t.Errorf("heard %s", got)
		}
		f.set(func() { f.down = errors.New("gone away") })
		sleepInBubble(20 * time.Second)
		if got := strings.Join(heard(), "\n"); strings.Contains(got, "alarm") || strings.Contains(got, "books") {
			t.Errorf("the database is away, which the schedule says: %s", got)
		}
	})
}

// TestQuickLooksAreBounded: a campaign whose rows take long is looked at for a twentieth of the time.
func TestQuickLooksAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeBooks("c1")
		f.slow = 10 * time.Second
		_, stop := reconcilerAt(t, f, "a")
		defer stop()
		minutes(60)
		// 54 rounds of the schedule look at the sums; the quick ones begin each 210 s or a little later.
		if looks := f.sums["a"] - 54; looks < 15 || looks > 18 {
			t.Errorf("%d looks at the rows in an hour", looks)
		}
	})
}

func TestEverythingIsLookedAtByOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewProofs(ProofsOptions{Books: nodeBooks{newFakeBooks(), "a"}, Log: slog.New(slog.DiscardHandler)})
		r.everything <- struct{}{} // somebody is at it
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.Everything(ctx, func(string, reconcile.Reconciliation, error) {}); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("two at once: %v", err)
		}
		<-r.everything
		for range 2 {
			if _, err := r.Everything(t.Context(), func(string, reconcile.Reconciliation, error) {}); err != nil {
				t.Error(err)
			}
		}
		for range reconcileAtOnce + 1 {
			if _, err := r.Campaign(t.Context(), "c1"); err != nil {
				t.Error(err)
			}
		}
	})
}
