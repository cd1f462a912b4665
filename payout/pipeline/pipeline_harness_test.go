package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"redrain/internal/embedded"
	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// pipeline has everything from the outbox to the ledger.
type pipeline struct {
	*paytest.Books
	redis     *paytest.FakeRedis
	told      *paytest.Told
	nc        *nats.Conn
	js        jetstream.JetStream
	namespace string
	dead      chan posting.DeadLetter
}

func newPipeline(t testing.TB, b *paytest.Books, connect func(...nats.Option) (*nats.Conn, error)) *pipeline {
	t.Helper()
	nc := testenv.Got(connect(nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.ReconnectJitter(0,
		0))).Must(t)
	t.Cleanup(nc.Close)
	js := testenv.Got(jetstream.New(nc)).Must(t)
	return &pipeline{
		Books: b, redis: paytest.NewFakeRedis(b.Clock.Now), told: &paytest.Told{}, nc: nc, js: js,
		namespace: testenv.Namespace(t),
		dead:      make(chan posting.DeadLetter, 100),
	}
}

// relay makes a relay that does not run.
func (p *pipeline) relay(t testing.TB, o RelayOptions) *Relay {
	t.Helper()
	o.Log = paytest.Quiet
	publisher := testenv.Got(NewPublisher(p.js, p.namespace, p.Seals.Ring(), paytest.Quiet)).Must(t)
	o.SweepEvery = cmp.Or(o.SweepEvery, 10*time.Millisecond)
	o.Grace = cmp.Or(o.Grace, time.Nanosecond) // no other node publishes
	o.Clock = p.Clock.Now
	return NewRelay(publisher, p.redis, p.redis, o)
}

// settlerOn is a settler on a ledger. It does not run. Its dead letters go to p.dead unless the alarms are set.
func (p *pipeline) settlerOn(ledger Poster, o SettlerOptions) *Settler {
	dead := func(letters []posting.DeadLetter) {
		for _, d := range letters {
			p.dead <- d
		}
	}
	if o.OnDead == nil {
		o.OnDead = dead
	}
	if o.OnForged == nil {
		o.OnForged = func(f Forged) { dead(f.Letters) }
	}
	o.Namespace, o.Log = p.namespace, paytest.Quiet
	return NewSettler(p.js, p.Seals.Ring(), ledger, p.DeadLetters, p.redis, p.told, o)
}

// stream is the stream of the pipeline, which is made.
func (p *pipeline) stream(t testing.TB) *stream {
	t.Helper()
	s := newStream(p.js, p.namespace, paytest.Ring)
	testenv.Must(t, testenv.Err(s.ensure(t.Context())))
	return s
}

// node starts one relay and one settler, and returns a function that stops them and waits.
func (p *pipeline) node(t testing.TB, o RelayOptions, so SettlerOptions) (stop func()) {
	t.Helper()
	relay, settler := p.relay(t, o), p.settlerOn(p.Poster, so)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for _, run := range []func(context.Context) error{relay.Run, settler.Run} {
		wg.Go(func() {
			testenv.WantErr(t, run(ctx), nil)
		})
	}
	var once sync.Once
	stop = func() { once.Do(func() { cancel(); wg.Wait() }) }
	t.Cleanup(stop)
	return stop
}

func (p *pipeline) eventuallySettled(t testing.TB, within time.Duration, c *rain.Campaign, packets int64) {
	t.Helper()
	testenv.Eventually(t, within, fmt.Sprintf("%d packets are paid and the outbox is empty", packets), func() bool {
		paid, _, err := p.Paid(context.Background(), c.ID)
		return err == nil && paid == packets && p.redis.Waiting() == 0
	})
}

// rainOn wins packets until n are won, one entry at a time.
func (p *pipeline) rainOn(c *rain.Campaign, n int) {
	for i := 0; n > 0; i++ {
		n -= p.redis.Win(c.ID, i%c.Shards, fmt.Sprintf("u%d", i%37), fmt.Sprintf("v%d", i%11))
	}
}

// inProcess makes a pipeline without other processes.
func inProcess(t testing.TB) *pipeline {
	t.Helper()
	server := testenv.Got(embedded.NATS("")).Must(t)
	t.Cleanup(func() {
		testenv.Must(t, server.Close())
	})
	return newPipeline(t, paytest.OnSQLite(t), func(options ...nats.Option) (*nats.Conn,
		error) {
		return server.Connect(options...)
	})
}

// onServers makes a pipeline on MariaDB and its own NATS server.
func onServers(t testing.TB) *pipeline {
	t.Helper()
	return connected(t, paytest.OnMySQL(t), testenv.NATS(t))
}

func connected(t testing.TB, b *paytest.Books, url string) *pipeline {
	t.Helper()
	return newPipeline(t, b, func(options ...nats.Option) (*nats.Conn, error) { return nats.Connect(url, options...) })
}

// opened makes a pipeline with the campaign c1, in the ledger and in Redis.
func opened(t testing.TB, back func(testing.TB) *pipeline, spec rain.Spec) (*pipeline, *rain.Campaign) {
	t.Helper()
	p := back(t)
	c := p.OpenCampaign(t, "c1", spec)
	p.redis.Open(c)
	return p, c
}

// publishRaw publishes an unsealed message of c1.
func (p *pipeline) publishRaw(t testing.TB, data []byte) {
	t.Helper()
	testenv.Must(t, testenv.Err(p.js.Publish(t.Context(), p.namespace+".payout.c1.0", data)))
}

// consumer returns the state of the settlement workers' consumer.
func (p *pipeline) consumer(t testing.TB) *jetstream.ConsumerInfo {
	t.Helper()
	c := testenv.Got(p.js.Consumer(t.Context(), newStream(p.js, p.namespace, paytest.Ring).name(),
		consumerName)).Must(t)
	var info *jetstream.ConsumerInfo
	testenv.Eventually(t, 5*time.Second, "acknowledgements have arrived", func() bool {
		var err error
		info, err = c.Info(t.Context())
		return err == nil && info.NumAckPending == 0
	})
	return info
}
