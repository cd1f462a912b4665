package pipeline

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/testenv"
	"redrain/payout/paytest"
	"redrain/rain"
)

// decidersOf makes deciders that do not run.
func (p *pipeline) decidersOf(t *testing.T) *Deciders {
	t.Helper()
	publisher := testenv.Got(NewPublisher(p.js, p.namespace, p.Seals.Ring(), paytest.Quiet)).Must(t)
	return NewDeciders(publisher, DecidersOptions{Log: paytest.Quiet})
}

// start runs the deciders, and returns a function that stops them and waits.
func (d *Deciders) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- d.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestWhatWasToldIsPaid: an outsider changes the packet of one player's entry in the outbox, and deletes another
// entry. The ledger gets both as they were decided.
func TestWhatWasToldIsPaid(t *testing.T) {
	t.Parallel()
	p, c := wonAndKnown(t)
	shard := p.redis.Shards[paytest.FakeKey{Campaign: "c1"}]
	told := slices.Clone(shard.Entries)
	altered := told[0]
	altered.Wins = slices.Clone(altered.Wins)
	altered.Wins[0].Packet = 9
	shard.Entries = []rain.Entry{altered}
	d := p.decidersOf(t)
	for i := range told {
		d.Publish(&told[i])
	}
	stop := d.start(t)
	p.node(t, RelayOptions{Grace: time.Hour}, SettlerOptions{})
	p.eventuallySettled(t, time.Minute, c, 2)
	stop()
	for i, got := range p.Assigned(t, c) {
		if want := told[i].Wins[0]; got.Win.Packet != want.Packet || got.Win.User != want.User {
			t.Errorf("%s has packet %d, and was notified of %+v", got.Win.User, got.Win.Packet, want)
		}
	}
	testenv.Equal(t, p.CountDead(t), 0, "dead letters")
	p.CheckBooks(t)
}

// TestDecidersWaitForJetStream: entries that were decided during an outage are published after it, and the queue at
// the end, too.
func TestDecidersWaitForJetStream(t *testing.T) {
	t.Parallel()
	server := testenv.StartNATS(t)
	p := connected(t, paytest.OnSQLite(t), server.URL)
	d := p.decidersOf(t)
	stop := d.start(t)
	server.Kill()
	for n := range 3 {
		e := paytest.Entry("c1", n+1, paytest.Win("u1", n, 1))
		d.Publish(&e)
	}
	server.Start()
	testenv.Eventually(t, time.Minute, "all are in the stream", func() bool {
		s, err := p.js.Stream(t.Context(), d.publisher.stream.name())
		return err == nil && s.CachedInfo().State.Msgs == 3
	})
	stop()
	e := paytest.Entry("c1", 4, paytest.Win("u1", 3, 1))
	d.Publish(&e)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	testenv.Must(t, d.Run(ended))
	testenv.Equal(t, p.messages(t), 4, "messages")
}

// TestDecidersKeepABoundedNumber: the relay publishes the rest.
func TestDecidersKeepABoundedNumber(t *testing.T) {
	t.Parallel()
	p := inProcess(t)
	for name, fill := range map[string]func(d *Deciders){
		"entries": func(d *Deciders) {
			for range waitingEntries {
				d.queue <- message{}
			}
		},
		"bytes": func(d *Deciders) { d.bytes.Store(waitingBytes) },
	} {
		d := p.decidersOf(t)
		fill(d)
		before := d.bytes.Load()
		e := paytest.Entry("c1", 1, paytest.Win("u1", 0, 1))
		d.Publish(&e)
		if n := testutil.ToFloat64(d.left); n != 1 || d.bytes.Load() != before {
			t.Errorf("%s: %v left to the relay, %d bytes wait", name, n, d.bytes.Load())
		}
	}
}
