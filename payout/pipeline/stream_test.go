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
		paytest.Must(t, err)
		nc, err := server.Connect()
		paytest.Must(t, err)
		js, err := jetstream.New(nc)
		paytest.Must(t, err)
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
	p := inProcess(t)
	s := newStream(p.js, p.namespace, paytest.Ring)
	consumer, err := s.puller(t.Context())
	paytest.Must(t, err)
	settings := consumer.CachedInfo().Config
	if settings.MaxDeliver != -1 || settings.DeliverPolicy != jetstream.DeliverAllPolicy ||
		settings.AckPolicy != jetstream.AckExplicitPolicy || settings.AckWait != ackWait {
		t.Errorf("the consumer gives messages up: %+v", settings)
	}
	kept, err := p.js.Stream(t.Context(), s.name())
	paytest.Must(t, err)
	c := kept.CachedInfo().Config
	if c.Storage != jetstream.FileStorage || c.Retention != jetstream.LimitsPolicy || c.MaxAge != streamMaxAge ||
		c.Duplicates != duplicateSpan || c.MaxMsgs != -1 || c.MaxBytes != -1 {
		t.Errorf("the stream forgets: %+v", c)
	}
	c.MaxAge = time.Hour // an operator has changed it
	_, err = p.js.UpdateStream(t.Context(), c)
	paytest.Must(t, err)
	made, err := s.ensure(t.Context())
	if err != nil || made.CachedInfo().Config.MaxAge != streamMaxAge {
		t.Errorf("the age is not put right: %v, %v", made.CachedInfo().Config.MaxAge, err)
	}
}
