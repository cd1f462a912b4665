package pipeline

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"redrain/internal/embedded"
	"redrain/internal/testenv"
	"redrain/payout/paytest"
)

// A node that stops right after its start interrupts the creation of the stream. TestMain finds the remains in the
// embedded NATS server.
func TestStoppedWhileTheStreamIsMade(t *testing.T) {
	t.Parallel()
	for moment := range 100 {
		server := testenv.Got(embedded.NATS("")).Must(t)
		nc := testenv.Got(server.Connect()).Must(t)
		js := testenv.Got(jetstream.New(nc)).Must(t)
		ctx, cancel := context.WithCancel(t.Context())
		stopped := &stopper{JetStream: js, stop: cancel, after: time.Duration(moment) * 30 * time.Microsecond}
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := newStream(stopped, "", paytest.Ring).puller(ctx); err != nil &&
				!errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		all.Wait()
		nc.Close()
		testenv.Must(t, server.Close())
	}
}

// stopper is a JetStream whose client stops some time after a request to create a stream.
type stopper struct {
	jetstream.JetStream

	stop  func()
	after time.Duration
}

func (s *stopper) CreateStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	time.AfterFunc(s.after, s.stop)
	return s.JetStream.CreateStream(ctx, cfg)
}

// The stream and its consumer lose nothing. Messages are delivered until they are acknowledged, a new consumer starts
// from the oldest one, and copies are recognised for two minutes.
func TestStreamGivesNothingUp(t *testing.T) {
	t.Parallel()
	p := inProcess(t)
	s := newStream(p.js, p.namespace, paytest.Ring)
	consumer := testenv.Got(s.puller(t.Context())).Must(t)
	settings := consumer.CachedInfo().Config
	if settings.MaxDeliver != -1 || settings.DeliverPolicy != jetstream.DeliverAllPolicy ||
		settings.AckPolicy != jetstream.AckExplicitPolicy || settings.AckWait != ackWait {
		t.Errorf("the consumer gives messages up: %+v", settings)
	}
	kept := testenv.Got(p.js.Stream(t.Context(), s.name())).Must(t)
	c := kept.CachedInfo().Config
	if c.Storage != jetstream.FileStorage || c.Retention != jetstream.LimitsPolicy || c.MaxAge != streamMaxAge ||
		c.Duplicates != duplicateSpan || c.MaxMsgs != -1 || c.MaxBytes != -1 {
		t.Errorf("the stream forgets: %+v", c)
	}
	c.MaxAge = time.Hour // an operator has changed it
	testenv.Must(t, testenv.Err(p.js.UpdateStream(t.Context(), c)))
	made, err := s.ensure(t.Context())
	if err != nil || made.CachedInfo().Config.MaxAge != streamMaxAge {
		t.Errorf("the age is not put right: %v, %v", made.CachedInfo().Config.MaxAge, err)
	}
}

// TestARestoredLedgerReadsTheStreamAgain: once, for any order of nodes. A node that was started before the restore
// does not undo that.
func TestARestoredLedgerReadsTheStreamAgain(t *testing.T) {
	t.Parallel()
	p := inProcess(t)
	const restored = 1_700_000_000_000
	var delivered uint64
	for i, c := range []struct {
		restored int64
		pending  uint64 // of three messages, all delivered before each step
	}{{0, 3}, {0, 0}, {restored, 3}, {restored, 0}, {0, 0}, {restored - 1, 0}, {restored + 1, 3}} {
		s := newStream(p.js, p.namespace, paytest.Ring)
		s.restoredAt = c.restored
		if i == 0 {
			testenv.Must(t, testenv.Err(s.ensure(t.Context())))
			for range 3 {
				testenv.Must(t, testenv.Err(p.js.Publish(t.Context(), p.namespace+".payout.c1.0", []byte("x"))))
			}
		}
		consumer := testenv.Got(s.puller(t.Context())).Must(t)
		if got := consumer.CachedInfo().NumPending; got != c.pending {
			t.Errorf("step %d: %d messages are to come, want %d", i, got, c.pending)
		}
		batch := testenv.Got(consumer.FetchNoWait(10)).Must(t)
		for m := range batch.Messages() {
			testenv.Must(t, m.DoubleAck(t.Context()))
			delivered++
		}
	}
	if delivered != 9 {
		t.Errorf("%d deliveries, want three times three", delivered)
	}
}
