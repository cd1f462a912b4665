package pipeline

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"redrain/internal/testenv"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// idle makes a relay and a settler that do not run.
func (p *pipeline) idle(t testing.TB, so SettlerOptions) (*Relay, *Settler) {
	t.Helper()
	return p.relay(t, RelayOptions{}), p.settlerOn(p.Poster, so)
}

// messages counts the messages in the stream.
func (p *pipeline) messages(t testing.TB) uint64 {
	t.Helper()
	s, err := p.js.Stream(t.Context(), newStream(p.js, p.namespace, paytest.Ring).name())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0
	}
	testenv.Must(t, err)
	return s.CachedInfo().State.Msgs
}

// TestPublishAndCatchUp: CatchUp posts the published entries of one shard and no other, without a relay or a worker.
// It reads many pages, with invalid messages among them.
func TestPublishAndCatchUp(t *testing.T) {
	t.Parallel()
	for name, back := range backEnds {
		t.Run(name, func(t *testing.T) {
			p := back(t)
			c := p.OpenCampaign(t, "c1", rain.Spec{Budget: 3000, Packets: 3000, Shards: 2})
			void := 0
			relay, settler := p.idle(t, SettlerOptions{BatchWins: 50,
				Alarms: Alarms{OnVoid: func(l []posting.DeadLetter) { void += len(l) }}})
			testenv.Must(t, settler.CatchUp(t.Context(), "c1", 0))
			const entries = 700
			for i := range entries {
				u1, u2 := paytest.Home("u1", i%2, 2), paytest.Home("u2", i%2, 2)
				e := paytest.ShardEntry("c1", i%2, i+1, paytest.Win(u1, i, 1), paytest.Win(u2, 1000+i, 1))
				testenv.Must(t, relay.publisher.Publish(t.Context(), e))
				if i%100 == 0 {
					p.publishRaw(t, []byte("nonsense"))
				}
			}
			testenv.Must(t, relay.publisher.Publish(t.Context(), paytest.Entry("c1", 1, paytest.Win(paytest.Home("u1",
				0, 2), 0, 1), paytest.Win(paytest.Home("u2", 0, 2), 1000, 1))))
			testenv.Equal(t, p.messages(t), entries+7, "messages")
			for range 2 {
				testenv.Must(t, settler.CatchUp(t.Context(), "c1", 0))
				p.WantBalance(t, booking.UserAccount(paytest.Home("u1", 0, 2)), entries/2)
				p.WantBalance(t, booking.UserAccount(paytest.Home("u2", 0, 2)), entries/2)
			}
			testenv.Equal(t, p.CountDead(t), 0, "dead letters: a message that is no entry is the workers'")
			p.MustFence(t, 1)
			if err := settler.CatchUp(t.Context(), "c1", 1); err != nil || void != entries {
				t.Errorf("%d void, %v", void, err)
			}
			if got := p.Assigned(t, c); len(got) != entries {
				t.Errorf("%d packets are taken", len(got))
			}
			p.CheckBooks(t)
		})
	}
}

// TestCatchUpKnowsTheNewestKey: another node has sealed with a key that this one has not loaded. Its entries are
// posted before the fence. If the keys cannot be read, there is no fence.
func TestCatchUpKnowsTheNewestKey(t *testing.T) {
	t.Parallel()
	p := inProcess(t)
	p.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
	other := paytest.Node(t, p.Books)
	p.Clock.Add(3_600_000)
	testenv.Must(t, testenv.Err(other.Seals.Rotate(t.Context())))
	publisher := testenv.Got(NewPublisher(p.js, p.namespace, other.Seals.Ring(), paytest.Quiet)).Must(t)
	testenv.Must(t, publisher.Publish(t.Context(),
		paytest.SealWith(other.Seals.Ring(), paytest.Entry("c1", 1, paytest.Win("u1", 0, 10)))))
	_, settler := p.idle(t, SettlerOptions{})
	ledger := &keyless{Poster: p.Poster}
	settler.worker.ledger = ledger
	for range 2 {
		testenv.WantFail(t, settler.CatchUp(t.Context(), "c1", 0), "caught up without the keys")
	}
	testenv.Must(t, settler.CatchUp(t.Context(), "c1", 0))
	p.WantBalance(t, booking.UserAccount("u1"), 10)
}

// TestCatchUpAgainstTheWorkers: both post the same messages, each once.
func TestCatchUpAgainstTheWorkers(t *testing.T) {
	t.Parallel()
	p, c := opened(t, onServers, rain.Spec{Budget: 600, Packets: 600})
	_, settler := p.idle(t, SettlerOptions{})
	p.node(t, quick, SettlerOptions{})
	for won := 0; won < 600; {
		won += p.redis.Win("c1", 0, "u1", "u2", "u3")
		if won%60 == 0 {
			testenv.Must(t, settler.CatchUp(t.Context(), "c1", 0))
		}
	}
	p.eventuallySettled(t, 20*time.Second, c, 600)
	p.CheckBooks(t)
}

// TestPublishWaitsForJetStream: it returns after the acknowledgement, creates a lost stream again, and ends with its
// context.
func TestPublishWaitsForJetStream(t *testing.T) {
	t.Parallel()
	server := testenv.StartNATS(t)
	p := connected(t, paytest.OnSQLite(t), server.URL)
	relay, _ := p.idle(t, SettlerOptions{})
	testenv.Must(t, relay.publisher.Publish(t.Context(), paytest.Entry("c1", 1, paytest.Win("u1", 0, 1))))
	server.LoseData()
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	testenv.WantFail(t, relay.publisher.Publish(short, paytest.Entry("c1", 2, paytest.Win("u1", 1, 1))),
		"unacknowledged")
	ended := make(chan error, 1)
	go func() { ended <- relay.publisher.Publish(t.Context(), paytest.Entry("c1", 3, paytest.Win("u1", 2, 1))) }()
	server.Start()
	testenv.Must(t, <-ended)
	testenv.Equal(t, p.messages(t), 1, "messages in the new stream")
	testenv.WantFail(t, relay.publisher.Publish(t.Context(), paytest.Entry("c1", 4, paytest.Win(string(make([]byte,
		2<<20)), 3, 1))), "an entry that no message can hold")
}

// TestPoisonDoesNotKeepAShardFromBeingRebuilt: a refused entry is a dead letter before the fence, so its packet is
// not in stock. The other entries are posted.
func TestPoisonDoesNotKeepAShardFromBeingRebuilt(t *testing.T) {
	t.Parallel()
	for name, back := range backEnds {
		t.Run(name, func(t *testing.T) {
			p := back(t)
			c := p.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
			var dead []posting.DeadLetter
			relay, settler := p.idle(t, SettlerOptions{Alarms: Alarms{OnDead: func(l []posting.DeadLetter) {
				dead = append(dead, l...)
			}}})
			allow := p.Refuse(t, "poison")
			for i, user := range []string{"u1", "u1", "poison", "u1", "u1"} {
				testenv.Must(t, relay.publisher.Publish(t.Context(),
					paytest.Entry("c1", i+1, paytest.Win(user, i, 10))))
			}
			for range 2 {
				testenv.Must(t, settler.CatchUp(t.Context(), "c1", 0))
			}
			p.MustFence(t, 0)
			if got := p.Assigned(t, c); len(got) != 5 || len(dead) != 1 || dead[0].User != "poison" {
				t.Errorf("taken %+v, dead %+v", got, dead)
			}
			p.WantBalance(t, booking.UserAccount("u1"), 40)
			allow()
			testenv.Got(p.Retry(t.Context(), "c1-2")).Len(t, 1, "settled claims")
			p.CheckBooks(t)
		})
	}
}

// CatchUp posts pages with as many wins as a batch.
func TestCatchUpPostsInPages(t *testing.T) {
	t.Parallel()
	p := inProcess(t)
	p.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
	for n := range 3 {
		p.publish(t, 1, paytest.Entry("c1", n+1, paytest.Win("u1", 2*n, 10), paytest.Win("u2", 2*n+1, 10)))
	}
	var pages []int
	ledger := &between{p.Poster, func(entries []rain.Entry) error { pages = append(pages, len(entries)); return nil }}
	testenv.Must(t, p.settlerOn(ledger, SettlerOptions{BatchWins: 4}).CatchUp(t.Context(), "c1", 0))
	testenv.Equal(t, pages, []int{2, 1}, "pages of entries")
}

// TestAReaderOfALostStreamGivesUp: the rebuild that it reads for fails, and is tried again.
func TestAReaderOfALostStreamGivesUp(t *testing.T) {
	t.Parallel()
	p := inProcess(t)
	s := p.stream(t)
	p.publishRaw(t, []byte("x"))
	messages := testenv.Got(s.read(t.Context(), jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{p.namespace + ".payout.c1.0"}, DeliverPolicy: jetstream.DeliverAllPolicy})).Must(t)
	defer messages.Stop()
	testenv.Must(t, testenv.Err(next(t.Context(), messages)))
	testenv.Must(t, p.js.DeleteStream(t.Context(), s.name()))
	testenv.WantFail(t, testenv.Err(next(t.Context(), messages)), "reading a lost stream")
}
