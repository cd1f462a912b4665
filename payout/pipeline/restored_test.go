package pipeline

import (
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/paytest"
)

// TestARestoredLedgerReadsTheStreamAgain: once, whichever node comes first, and a node that was started before it does
// not undo that.
func TestARestoredLedgerReadsTheStreamAgain(t *testing.T) {
	t.Parallel()
	p := inProcess(t)
	const restored = 1_700_000_000_000
	var delivered uint64
	for i, c := range []struct {
		restored int64
		pending  uint64 // of three messages that were there, all delivered before each step
	}{{0, 3}, {0, 0}, {restored, 3}, {restored, 0}, {0, 0}, {restored - 1, 0}, {restored + 1, 3}} {
		s := newStream(p.js, p.namespace, paytest.Ring)
		s.restored = c.restored
		if i == 0 {
			paytest.Must(t, testenv.Err(s.ensure(t.Context())))
			for range 3 {
				paytest.Must(t, testenv.Err(p.js.Publish(t.Context(), p.namespace+".payout.c1.0", []byte("x"))))
			}
		}
		consumer, err := s.puller(t.Context())
		paytest.Must(t, err)
		if got := consumer.CachedInfo().NumPending; got != c.pending {
			t.Errorf("step %d: %d messages are to come, want %d", i, got, c.pending)
		}
		batch, err := consumer.FetchNoWait(10)
		paytest.Must(t, err)
		for m := range batch.Messages() {
			if err := m.DoubleAck(t.Context()); err != nil {
				t.Error(err)
			}
			delivered++
		}
	}
	if delivered != 9 {
		t.Errorf("%d deliveries, want three times three", delivered)
	}
}
