package testenv

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func jetStream(t *testing.T, url string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func TestNATSHasJetStream(t *testing.T) {
	ctx := context.Background()
	url := NATS(t)
	if again := NATS(t); again != url {
		t.Errorf("a second server at %s, the first is at %s", again, url)
	}
	js, ns := jetStream(t, url), Namespace(t)
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: ns, Subjects: []string{ns + ".>"}}); err != nil {
		t.Fatal(err)
	}
	if ack, err := js.Publish(ctx, ns+".a", []byte("1")); err != nil || ack.Sequence != 1 {
		t.Errorf("publish: %+v, %v", ack, err)
	}
}

func TestStartNATSKeepsStreamsThroughKill(t *testing.T) {
	ctx := context.Background()
	s := StartNATS(t)
	js := jetStream(t, s.URL)
	stream, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, err := js.Publish(ctx, "s.a", []byte("1")); err != nil {
			t.Fatal(err)
		}
	}
	s.Kill()
	s.Start()
	Eventually(t, 10*time.Second, "the client finds 100 messages again", func() bool {
		info, err := stream.Info(ctx)
		return err == nil && info.State.Msgs == 100
	})
	s.LoseData()
	s.Start()
	Eventually(t, 10*time.Second, "the stream is gone with its data", func() bool {
		_, err := js.Stream(ctx, "S")
		return errors.Is(err, jetstream.ErrStreamNotFound)
	})
}
