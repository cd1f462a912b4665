package pipeline

import (
	"cmp"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"redrain/internal/testenv"
	"redrain/payout/paytest"
	"redrain/rain"
)

// TestABurialIsToldOnce: a message that a settler buries is heard of as a dead letter, and not once more as one that
// JetStream has given up.
func TestABurialIsToldOnce(t *testing.T) {
	t.Parallel()
	for name, back := range backEnds {
		t.Run(name, func(t *testing.T) {
			p, c := opened(t, back, rain.Spec{Budget: 100, Packets: 10})
			heard := make(chan Advisory, 10)
			for range 3 {
				p.node(t, quick, SettlerOptions{Alarms: Alarms{OnAdvisory: func(a Advisory) { heard <- a }}})
			}
			s := newStream(p.js, p.namespace, paytest.Ring)
			testenv.Eventually(t, time.Minute, "the consumer is there", func() bool {
				_, err := p.js.Consumer(t.Context(), s.name(), consumerName)
				return err == nil
			})
			p.publishRaw(t, []byte("no entry"))
			<-p.dead
			p.redis.Win("c1", 0, "u1")
			p.eventuallySettled(t, time.Minute, c, 1)
			if len(heard) != 0 || len(p.dead) != 0 {
				t.Errorf("%d advisories and %d letters more", len(heard), len(p.dead))
			}
		})
	}
}

// TestSomebodyElseTakesMessagesOutOfSight: each is heard of, once however many nodes there are, also where the reason
// looks like a settler's.
func TestSomebodyElseTakesMessagesOutOfSight(t *testing.T) {
	t.Parallel()
	p := inProcess(t)
	s := newStream(p.js, p.namespace, paytest.Ring)
	consumer, err := s.puller(t.Context())
	paytest.Must(t, err)
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
	var first jetstream.Msg
	term := func(reason func(jetstream.Msg) string) {
		t.Helper()
		p.publishRaw(t, []byte("an entry"))
		m, err := consumer.Next()
		if err == nil {
			err = m.TermWithReason(reason(m))
		}
		paytest.Must(t, err)
		first = cmp.Or(first, m)
	}
	ears := func() bool { // all listen: until then an advisory may have been for nobody
		return p.js.Conn().NumSubscriptions() >= 3
	}
	testenv.Eventually(t, time.Minute, "listening", ears)
	term(s.burial)
	for what, reason := range map[string]func(jetstream.Msg) string{
		"nothing":                   func(jetstream.Msg) string { return "" },
		"a text":                    func(jetstream.Msg) string { return buriedText },
		"the burial of another":     func(jetstream.Msg) string { return s.burial(first) },
		"a burial with other seals": newStream(p.js, p.namespace, stranger).burial,
	} {
		term(reason)
		if a := <-heard; a.Kind != MessageTerminated || a.Stream != s.name() || a.StreamSeq < 2 {
			t.Errorf("%s: %+v", what, a)
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
	made, err := s.ensure(t.Context())
	paytest.Must(t, err)
	other, err := made.CreateOrUpdateConsumer(t.Context(), jetstream.ConsumerConfig{
		Durable: consumerName, AckPolicy: jetstream.AckExplicitPolicy, MaxDeliver: 1, AckWait: 100 * time.Millisecond,
	})
	paytest.Must(t, err)
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
