package pipeline

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/rounds"
	"redrain/internal/testenv"
	"redrain/payout/paytest"
	"redrain/rain"
)

// A round of the settler and one of the relay that panic are told and counted, and the next rounds settle everything.
func TestPanicEndsOneRound(t *testing.T) {
	t.Parallel()
	p := inProcess(t)
	c := p.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
	p.redis.Open(c)
	reg := prometheus.NewRegistry()
	var alarms atomic.Int32
	guard, err := rounds.NewGuard(reg, paytest.Quiet, func(string, string) { alarms.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	var reads atomic.Int32
	relay := p.relay(t, RelayOptions{SweepEvery: 10 * time.Millisecond, Patience: 50 * time.Millisecond, Guard: guard})
	relay.outbox = &tearing{Outbox: p.redis, first: &reads}
	var posts atomic.Int32
	settler, err := NewSettler(p.js, &between{p.Poster, func([]rain.Entry) error {
		if posts.Add(1) == 1 {
			panic("torn")
		}
		return nil
	}}, p.DeadLetters, p.redis, p.told, SettlerOptions{Namespace: p.namespace, Workers: 1, Guard: guard, Log: paytest.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- relay.Run(ctx) }()
	go func() { ended <- settler.Run(ctx) }()
	p.redis.Win("c1", 0, "u1", "u2")
	testenv.Eventually(t, time.Minute, "both rounds have panicked", func() bool { return alarms.Load() == 2 })
	p.redis.Win("c1", 0, "u3")
	// Sooner than JetStream would deliver by itself what nobody has given back.
	testenv.Eventually(t, ackWait/2, "the next rounds settle all", func() bool {
		paid, _, err := p.Paid(t.Context(), "c1")
		return err == nil && paid == 3
	})
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if n, err := testutil.GatherAndCount(reg, "redrain_panics_total"); n != 2 || err != nil {
		t.Errorf("%d parts have panicked, want relay and settlement (%v)", n, err)
	}
}

// tearing panics at the first read.
type tearing struct {
	Outbox
	first *atomic.Int32
}

func (o *tearing) Read(ctx context.Context, campaign string, shard int, consumer string,
	limit int) ([]rain.Entry, error) {
	if o.first.Add(1) == 1 {
		panic("torn")
	}
	return o.Outbox.Read(ctx, campaign, shard, consumer, limit)
}
