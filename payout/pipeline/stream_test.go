package pipeline

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"redrain/internal/embedded"
	"redrain/payout/paytest"
)

// A node that is stopped as soon as it is started stops in the middle of making the stream. What the NATS server in
// the process leaves behind is found by TestMain.
func TestStoppedWhileTheStreamIsMade(t *testing.T) {
	t.Parallel()
	for moment := range 100 {
		server, err := embedded.NATS("")
		if err != nil {
			t.Fatal(err)
		}
		nc, err := server.Connect()
		if err != nil {
			t.Fatal(err)
		}
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
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
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
}

// stopper is a JetStream whose client is stopped some time after it has asked for a stream to be made.
type stopper struct {
	jetstream.JetStream

	stop  func()
	after time.Duration
}

func (s *stopper) CreateOrUpdateStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	time.AfterFunc(s.after, s.stop)
	return s.JetStream.CreateOrUpdateStream(ctx, cfg)
}

// The stream and its consumer give nothing up: messages are delivered until they are acknowledged, a consumer that was
// made anew begins with the oldest, and copies are known for two minutes.
func TestStreamGivesNothingUp(t *testing.T) {
	t.Parallel()
	server, err := embedded.NATS("")
	if err != nil {
		t.Fatal(err)
	}
	nc, err := server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		nc.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s := newStream(js, "", paytest.Ring)
	consumer, err := s.puller(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	settings := consumer.CachedInfo().Config
	if settings.MaxDeliver != -1 || settings.DeliverPolicy != jetstream.DeliverAllPolicy ||
		settings.AckPolicy != jetstream.AckExplicitPolicy || settings.AckWait != ackWait {
		t.Errorf("the consumer gives messages up: %+v", settings)
	}
	kept, err := js.Stream(t.Context(), s.name())
	if err != nil {
		t.Fatal(err)
	}
	if c := kept.CachedInfo().Config; c.Retention != jetstream.LimitsPolicy || c.MaxAge != streamMaxAge ||
		c.Duplicates != duplicateSpan || c.MaxMsgs > 0 || c.MaxBytes > 0 {
		t.Errorf("the stream forgets: %+v", c)
	}
}
