package pipeline

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"redrain/internal/testenv"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestSomebodyElseTakesMessagesOutOfSight: each is heard of, once however many nodes there are.
func TestSomebodyElseTakesMessagesOutOfSight(t *testing.T) {
	t.Parallel()
	p := inProcess(t)
	s := newStream(p.js, p.namespace, paytest.Ring)
	consumer := paytest.Got(s.puller(t.Context())).Must(t)
	heard := make(chan Advisory, 10)
	ctx, cancel := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	for range 3 {
		listening.Go(func() {
			s.advisories(ctx, MessageTerminated, paytest.Quiet, func(a Advisory) { heard <- a })
		})
	}
	t.Cleanup(listening.Wait)
	t.Cleanup(cancel)
	ears := func() bool { // all listen: until then an advisory may have been for nobody
		return p.js.Conn().NumSubscriptions() >= 3
	}
	testenv.Eventually(t, time.Minute, "listening", ears)
	for n, reason := range []string{"", "a text"} {
		p.publishRaw(t, []byte("an entry"))
		m := paytest.Got(consumer.Next()).Must(t)
		paytest.Must(t, m.TermWithReason(reason))
		if a := <-heard; a.Kind != MessageTerminated || a.Stream != s.name() || a.StreamSeq != uint64(n+1) ||
			a.Reason != reason {
			t.Errorf("%q: %+v", reason, a)
		}
	}
	if len(heard) != 0 {
		t.Errorf("heard more: %+v", <-heard)
	}
}

// TestMaxDeliveries: an operator has limited the deliveries, and a message has had them all.
func TestMaxDeliveries(t *testing.T) {
	t.Parallel()
	p, _ := opened(t, inProcess, rain.Spec{Budget: 100, Packets: 10})
	heard := make(chan Advisory, 10)
	s := newStream(p.js, p.namespace, paytest.Ring)
	made := paytest.Got(s.ensure(t.Context())).Must(t)
	other := paytest.Got(made.CreateOrUpdateConsumer(t.Context(), jetstream.ConsumerConfig{
		Durable: consumerName, AckPolicy: jetstream.AckExplicitPolicy, MaxDeliver: 1, AckWait: 100 * time.Millisecond,
	})).Must(t)
	p.publishRaw(t, []byte("an entry"))
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
		paytest.Must(t, testenv.Err(other.FetchNoWait(1)))
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
