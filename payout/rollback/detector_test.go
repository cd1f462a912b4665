package rollback

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/chain"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// fakeLedger has the rows that the test says.
type fakeLedger struct {
	rows    []chain.Head // each book's newest one is its head
	restore ledger.Restore
	noticed []string
	during  func() // while a look reads the ledger
	now     int64
}

func (f *fakeLedger) Heads(context.Context) ([]chain.Head, error) {
	if f.during != nil {
		f.during()
	}
	newest := map[string]chain.Head{}
	for _, h := range f.rows {
		if h.ID > newest[h.Book].ID {
			newest[h.Book] = h
		}
	}
	return slices.Collect(maps.Values(newest)), nil
}

func (f *fakeLedger) Holds(_ context.Context, h chain.Head) (bool, error) {
	return slices.Contains(f.rows, h), nil
}

func (f *fakeLedger) Newest(context.Context) (ledger.Restore, error) { return f.restore, nil }

func (f *fakeLedger) Notice(_ context.Context, reason string) error {
	f.noticed, f.restore = append(f.noticed, reason), ledger.Restore{At: f.now, Open: true}
	return nil
}

// harness is a detector with its own NATS namespace.
type harness struct {
	*testing.T
	*fakeLedger
	d      *Detector
	kv     jetstream.KeyValue
	alarms []string
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	nc, err := nats.Connect(testenv.NATS(t))
	testenv.Must(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	testenv.Must(t, err)
	h := &harness{T: t, fakeLedger: &fakeLedger{rows: rows(7, 3), now: 1_000}}
	h.d = New(Options{
		JetStream: js, Namespace: testenv.Namespace(t), Rows: h, Restores: h,
		Clock: func() int64 { h.now++; return h.now },
		Alarm: func(code, _, message string) { h.alarms = append(h.alarms, code+": "+message) },
		Log:   slog.New(slog.DiscardHandler),
	})
	h.look()
	if h.kv, err = js.KeyValue(t.Context(), h.d.bucket); err != nil {
		t.Fatal(err)
	}
	return h
}

// rows makes so many transactions and audit records.
func rows(counts ...int64) (all []chain.Head) {
	for n, count := range counts {
		for id := range count {
			all = append(all, chain.Head{Book: []string{chain.Txns, chain.Audits}[n], ID: id + 1,
				Hash: strings.Repeat("a", int(id+1))})
		}
	}
	return all
}

func (h *harness) look() {
	h.Helper()
	testenv.Must(h, h.d.Look(h.Context()))
}

// wants fails the test unless so many restores were recorded, the newest with a reason.
func (h *harness) wants(count int, reason string) {
	h.Helper()
	if len(h.noticed) != count || count > 0 && !strings.Contains(h.noticed[count-1], reason) {
		h.Errorf("noticed %q, want %d, %q", h.noticed, count, reason)
	}
	held := 0.0
	if h.restore.Open {
		held = 1
	}
	if got := testutil.ToFloat64(h.d.held); got != held {
		h.Errorf("withdrawals held: %v", got)
	}
}

// TestALedgerThatWentBack is detected once, by any difference. Run raises the alarm.
func TestALedgerThatWentBack(t *testing.T) {
	other := rows(7, 3)
	other[len(other)-1].Hash = "another"
	for name, back := range map[string]struct {
		rows   []chain.Head
		reason string
	}{
		"a row less":          {rows(7, 2), "row 3 of the table audit is gone, or another one"},
		"a book less":         {rows(7), "row 3 of the table audit is gone"},
		"nothing":             {nil, "is gone"},
		"more, and less":      {rows(6, 9), "row 7 of the table txn is gone"},
		"as many, not these":  {other, "row 3 of the table audit is gone, or another one"},
		"what is kept is odd": {rows(8, 4), "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			if name == "what is kept is odd" {
				testenv.Must(t, testenv.Err(h.kv.PutString(t.Context(), key, "odd")))
				h.now = 1 << 50 // the servers' clock is not the test's
			}
			h.rows = back.rows
			h.look()
			h.wants(1, back.reason)
			h.look()
			h.wants(1, back.reason)
			ctx, cancel := context.WithCancel(t.Context())
			h.during = cancel // after one round, and a last one
			testenv.Must(t, h.d.Run(ctx))
			if len(h.alarms) != 1 || !strings.HasPrefix(h.alarms[0], "ledger_went_back: ") {
				t.Errorf("alarms %q", h.alarms)
			}
			h.during, h.restore.Open = nil, false // an operator has ended it
			h.look()
			h.wants(1, back.reason)
			h.rows = append(rows(20, 20), back.rows...)
			h.look()
			h.rows = append(rows(20, 19), back.rows...)
			h.look()
			h.wants(2, "row 20 of the table audit")
		})
	}
}

// TestALedgerThatGoesOn has not gone back. A recorded restore, and a newer mark of another node, raise no alarm
// either.
func TestALedgerThatGoesOn(t *testing.T) {
	h := newHarness(t)
	h.rows = rows(8, 4)
	h.look()
	h.wants(0, "")

	h.rows, h.restore = rows(2), ledger.Restore{At: h.now + 1, Open: true}
	h.now += 2
	h.look() // an operator has recorded it before any node ran
	h.wants(0, "")
	h.rows = rows(5)
	h.look()
	h.restore = ledger.Restore{At: h.now + 1} // and its end, too
	h.rows = rows(4)
	h.look()
	h.wants(0, "")

	h.during = func() { // another node looks meanwhile, later
		h.during = nil
		h.rows = rows(9, 9)
		h.look()
	}
	h.look()
	h.wants(0, "")
	h.rows = rows(6)
	h.look() // the other node's mark is still there
	h.wants(1, "row 9")
}
