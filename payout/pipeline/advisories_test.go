package pipeline

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"redrain/internal/testenv"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestAdvisories: a message that JetStream gives up is heard of, once however many nodes there are.
func TestAdvisories(t *testing.T) {
	t.Parallel()
	for name, back := range backEnds {
		t.Run(name, func(t *testing.T) {
			p := back(t)
			c := p.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
			p.redis.Open(c)
			heard := make(chan Advisory, 10)
			for range 3 {
				p.node(t, quick, SettlerOptions{Alarms: Alarms{OnAdvisory: func(a Advisory) { heard <- a }}})
			}
			s := newStream(p.js, p.namespace, paytest.Ring)
			testenv.Eventually(t, time.Minute, "the consumer is there", func() bool {
				_, err := p.js.Consumer(t.Context(), s.name(), consumerName)
				return err == nil
			})
			if _, err := p.js.Publish(t.Context(), p.namespace+".payout.c1.0", []byte("no entry")); err != nil {
				t.Fatal(err)
			}
			want := Advisory{Kind: MessageTerminated, Stream: s.name(), Consumer: consumerName, StreamSeq: 1,
				Deliveries: 1, Reason: "kept as a dead letter"}
			if got := <-heard; got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
			p.redis.Win("c1", 0, "u1")
			p.eventuallySettled(t, time.Minute, c, 1)
			if len(heard) != 0 {
				t.Errorf("heard more: %+v", <-heard)
			}
		})
	}
}

// TestMaxDeliveries: an operator has limited the deliveries, and a message has had them all.
func TestMaxDeliveries(t *testing.T) {
	t.Parallel()
	p := inProcess(t)
	c := p.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
	p.redis.Open(c)
	heard := make(chan Advisory, 10)
	s := newStream(p.js, p.namespace, paytest.Ring)
	made, err := s.ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other, err := made.CreateOrUpdateConsumer(t.Context(), jetstream.ConsumerConfig{
		Durable: consumerName, AckPolicy: jetstream.AckExplicitPolicy, MaxDeliver: 1, AckWait: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.js.Publish(t.Context(), p.namespace+".payout.c1.0", []byte("an entry")); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Next(); err != nil { // and never acknowledges
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.advisories(t.Context(), MaxDeliveries, paytest.Quiet, func(a Advisory) { heard <- a })
	}()
	t.Cleanup(func() { <-done })
	for {
		// The server says it when it would deliver the message once more.
		if _, err := other.FetchNoWait(1); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-heard:
			if got.Kind != MaxDeliveries || got.Stream != s.name() || got.StreamSeq != 1 || got.Deliveries != 1 {
				t.Errorf("%+v", got)
			}
			return
		case <-time.After(50 * time.Millisecond): // the rhythm of asking
		}
	}
}
