package pipeline

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/testenv"
	"redrain/payout"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// between is a ledger that calls a test's function first.
type between struct {
	*posting.Poster
	before func(entries []rain.Entry) error
}

func (b *between) Post(ctx context.Context, entries []rain.Entry) (posting.Posted, error) {
	if err := b.before(entries); err != nil {
		return posting.Posted{}, err
	}
	return b.Poster.Post(ctx, entries)
}

// settler runs a settler on such a ledger.
func (p *pipeline) settler(t *testing.T, o SettlerOptions, before func([]rain.Entry) error) (stop func()) {
	t.Helper()
	o.Clock = p.Clock.Now
	return p.run(t, p.settlerOn(&between{p.Poster, before}, o))
}

// run runs a settler until the test ends, or stop is called.
func (p *pipeline) run(t *testing.T, s *Settler) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// publish puts entries into the stream without a relay, each times times.
func (p *pipeline) publish(t *testing.T, times int, entries ...rain.Entry) {
	t.Helper()
	s := p.stream(t)
	for _, e := range entries {
		message := payout.SealMessage(p.Seals.Ring(), payout.EncodeEntry(e))
		for range times {
			testenv.Must(t, testenv.Err(p.js.Publish(t.Context(), s.subject(e.Ref), message)))
		}
	}
}

// publishWins opens c1, and publishes so many messages, with so many wins each.
func (p *pipeline) publishWins(t *testing.T, messages, wins int) {
	t.Helper()
	p.OpenCampaign(t, "c1", rain.Spec{Budget: rain.Money(88 * messages * wins), Packets: messages * wins})
	for m := range messages {
		var list []rain.Win
		for n := range wins {
			list = append(list, paytest.Win(fmt.Sprint("u", n), m*wins+n, 88))
		}
		p.publish(t, 1, paytest.Entry("c1", m+1, list...))
	}
}

// publishOutbox publishes what waits in an outbox of c1, each entry as often as said.
func (p *pipeline) publishOutbox(t *testing.T, shard, times int) []rain.Entry {
	t.Helper()
	entries := testenv.Got(p.redis.Oldest("c1", shard, 1000)).Must(t)
	p.publish(t, times, entries...)
	return entries
}

// TestSettlersMeetCopies: three copies of each entry in the stream, and four settlers with four workers each.
func TestSettlersMeetCopies(t *testing.T) {
	t.Parallel()
	for name, back := range backEnds {
		t.Run(name, func(t *testing.T) {
			p, c := opened(t, back, rain.Spec{Budget: 3000, Packets: 600, Shards: 3})
			p.rainOn(c, 600)
			for s := range c.Shards {
				p.publishOutbox(t, s, 3)
			}
			reg := prometheus.NewRegistry()
			for i := range 4 {
				o := SettlerOptions{BatchWins: 20}
				if i == 0 {
					o.Registerer = reg
				}
				p.settler(t, o, func([]rain.Entry) error { return nil })
			}
			p.eventuallySettled(t, 20*time.Second, c, 600)
			testenv.Equal(t, p.consumer(t).NumPending, 0, "messages are left")
			p.WantBalance(t, booking.EscrowAccount("c1"), 0)
			p.CheckBooks(t)
			testenv.Equal(t, testutil.CollectAndCount(reg, "redrain_payout_failures_total"), 1, "counters of failures")
		})
	}
}

// TestSettlerFinishesTheBatchInHand: after a cancel, Run returns when its batch is done.
func TestSettlerFinishesTheBatchInHand(t *testing.T) {
	t.Parallel()
	p, _ := opened(t, inProcess, rain.Spec{Budget: 100, Packets: 10})
	p.redis.Win("c1", 0, "u1", "u2")
	p.publishOutbox(t, 0, 1)
	inHand, goOn := make(chan struct{}), make(chan struct{})
	stop := p.settler(t, SettlerOptions{}, func([]rain.Entry) error {
		close(inHand)
		<-goOn
		return nil
	})
	<-inHand
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	select {
	case <-stopped:
		t.Error("Run returned with a batch in hand")
	case <-time.After(50 * time.Millisecond): // the others have returned by now; on a slow machine the test is weaker
	}
	close(goOn)
	<-stopped
	if paid, _, err := p.Paid(t.Context(), "c1"); paid != 2 || err != nil || p.redis.Waiting() != 0 ||
		p.told.Distinct() != 2 {
		t.Errorf("%d paid, %v, %d waiting, %d reported", paid, err, p.redis.Waiting(), p.told.Distinct())
	}
	if info := p.consumer(t); info.NumPending != 0 || info.NumAckPending != 0 {
		t.Errorf("it was not acknowledged: %+v", info)
	}
}

// TestAStormAfterALullIsShared: a worker has asked for many messages, because the last ones held few wins. It leaves
// the messages that it cannot settle soon to the others.
func TestAStormAfterALullIsShared(t *testing.T) {
	t.Parallel()
	const messages, wins = 60, 10
	p := backEnds["in process"](t)
	p.publishWins(t, messages, wins)
	o := SettlerOptions{Workers: 1, BatchWins: wins}
	if n := newFetchSizer(wins).messages(wins); n < messages {
		t.Fatalf("a worker begins with %d messages: this tests nothing", n)
	}
	busy, done := make(chan struct{}, messages), make(chan struct{})
	p.settler(t, o, func([]rain.Entry) error { busy <- struct{}{}; <-done; return nil })
	defer close(done)
	<-busy
	p.settler(t, o, func([]rain.Entry) error { return nil })
	testenv.Eventually(t, 15*time.Second, "the others wait for the one that is stuck", func() bool {
		paid, _, err := p.Paid(t.Context(), "c1")
		return err == nil && paid >= (messages-mostBatches)*wins
	})
}
