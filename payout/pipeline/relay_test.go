package pipeline

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/loop"
	"redrain/internal/testenv"
	"redrain/payout/paytest"
	"redrain/rain"
)

// wonAndKnown opens a campaign of ten packets, and has two of them won.
func wonAndKnown(t *testing.T) (*pipeline, *rain.Campaign) {
	t.Helper()
	p, c := opened(t, inProcess, rain.Spec{Budget: 100, Packets: 10})
	p.redis.Win("c1", 0, "u1")
	p.redis.Win("c1", 0, "u2")
	return p, c
}

// TestTheRelayLeavesWhatIsFreshToItsNode: the relay publishes a win after its node had the time to do so, on a
// working connection. It publishes a reclaim at once.
func TestTheRelayLeavesWhatIsFreshToItsNode(t *testing.T) {
	t.Parallel()
	p, _ := wonAndKnown(t)
	now := p.Clock.Now()
	relay := p.relay(t, RelayOptions{Grace: time.Minute})
	relay.o.Clock = func() int64 { return now }
	want := func(messages uint64, when string) {
		t.Helper()
		relay.sweep(t.Context())
		testenv.Equal(t, p.messages(t), messages, "%s messages", when)
	}
	want(0, "fresh")
	now += 2 * 60_000
	want(0, "old, but the connection has just been made: their node may be about to publish")
	relay.link.since = relay.link.since.Add(-time.Minute)
	want(2, "old")
	p.redis.Win("c1", 0, "u3")
	now = p.Clock.Now()
	want(2, "another fresh one")
	p.redis.Close("c1", 0)
	want(3, "a reclaim")
	testenv.Equal(t, testutil.ToFloat64(relay.relayed), 3, "entries relayed")
}

// TestAClockThatWasAheadHoldsUpNoEntry: the ids of an outbox stay ahead after the clock of its Redis is right again.
func TestAClockThatWasAheadHoldsUpNoEntry(t *testing.T) {
	t.Parallel()
	p, _ := wonAndKnown(t)
	const hour = 3_600_000
	now := p.Clock.Now()
	ahead := func(id string, sealedAt int64) rain.Entry {
		return rain.Entry{Ref: rain.EntryRef{Campaign: "c1", ID: fmt.Sprint(now+hour, "-", id)}, SealedAt: sealedAt,
			Wins: []rain.Win{{User: "u1"}}}
	}
	relay := p.relay(t, RelayOptions{Grace: time.Minute})
	relay.o.Clock = func() int64 { return now }
	relay.link.look()
	relay.link.since = relay.link.since.Add(-2 * time.Minute)
	got := relay.old([]rain.Entry{
		ahead("1", now-60_000), ahead("2", now-30_000), ahead("3", now+30_000), ahead("4", now+hour),
	})
	if len(got) != 2 || got[0].SealedAt != now-60_000 || got[1].SealedAt != now+hour {
		t.Errorf("%+v", got)
	}
}

// The number of reconnects shows a break that was not seen.
func TestALinkIsUpSinceItsLastBreak(t *testing.T) {
	t.Parallel()
	p := inProcess(t)
	l := link{conn: p.nc}
	if l.up(0) {
		t.Error("up before anybody has looked")
	}
	l.look()
	l.since = l.since.Add(-time.Hour)
	if l.look(); !l.up(time.Hour) {
		t.Error("without a break it is not up")
	}
	if l.reconnects++; true { // as if it had been another connection
		l.look()
	}
	if l.up(time.Hour) || !l.up(0) {
		t.Error("the break was not noticed")
	}
	p.nc.Close()
	if l.look(); l.up(0) {
		t.Error("up, and closed")
	}
}

// TestTheRelayComesToTheEnd: of an outbox that is longer than one sweep.
func TestTheRelayComesToTheEnd(t *testing.T) {
	t.Parallel()
	const entries = pageLimit*pagesAtOnce + 10
	p, _ := opened(t, inProcess, rain.Spec{Budget: entries, Packets: entries})
	for range entries {
		p.redis.Win("c1", 0, "u1")
	}
	relay := p.relay(t, RelayOptions{})
	relay.sweep(t.Context())
	testenv.Equal(t, p.messages(t), pageLimit*pagesAtOnce, "messages after one sweep")
	relay.sweep(t.Context())
	testenv.Equal(t, p.messages(t), entries, "messages after two")
	if relay.sweep(t.Context()); relay.after[outboxKey{"c1", 0}] == "" {
		t.Error("the third does not begin anew")
	}
}

// turns is a lease with a fixed order of turns.
type turns struct {
	began, released chan struct{}
}

func (l turns) Under(ctx context.Context, do func(context.Context) error) error {
	l.began <- struct{}{}
	return do(ctx)
}

func (l turns) Release(context.Context) { l.released <- struct{}{} }

// TestANodeThatCannotRelayLetsAnotherOne: a node without Redis, but with the database, must not keep the lease
// forever.
func TestANodeThatCannotRelayLetsAnotherOne(t *testing.T) {
	t.Parallel()
	p, _ := wonAndKnown(t)
	turn := turns{make(chan struct{}, 10), make(chan struct{}, 10)}
	relay := p.relay(t, RelayOptions{Turn: turn, SweepEvery: time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- relay.relay(ctx) }()
	testenv.Eventually(t, time.Minute, "the entries are in the stream", func() bool { return p.messages(t) == 2 })
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("at its end: %v", err)
	}
	p.redis.Fail(errors.New("away"))
	relay.sweep(t.Context())
	relay.worked = time.Now().Add(-fruitless - time.Second)
	relay.sweep(t.Context())
	if time.Since(relay.worked) <= fruitless {
		t.Error("a sweep that fails counts as one that works")
	}
	ctx, cancel = context.WithCancel(t.Context())
	go func() { ended <- relay.Run(ctx) }()
	<-turn.began
	cancel()
	testenv.Must(t, <-ended)
	<-turn.released
}

// A message that was interrupted by the end of its node is not lost: JetStream sees the relay's message as its copy.
func TestTheRelaysCopyIsACopy(t *testing.T) {
	t.Parallel()
	p, _ := wonAndKnown(t)
	d := p.decidersOf(t)
	for _, e := range p.redis.Entries(paytest.FakeKey{Campaign: "c1"}) {
		d.Publish(&e)
	}
	d.start(t)()
	p.relay(t, RelayOptions{}).sweep(t.Context())
	testenv.Equal(t, p.messages(t), 2, "messages")
}

// unsafe is an outbox whose entries may not leave, because no replica has them.
type unsafe struct{ Outbox }

func (unsafe) MayLeave(context.Context, []rain.Entry) error { return errors.New("no replica has it") }

// TestWhatMayNotLeaveStays: a failover candidate of the Redis server would give its packets again.
func TestWhatMayNotLeaveStays(t *testing.T) {
	t.Parallel()
	p, _ := wonAndKnown(t)
	relay := p.relay(t, RelayOptions{})
	relay.outbox = unsafe{relay.outbox}
	if relay.sweep(t.Context()); p.messages(t) != 0 {
		t.Errorf("%d messages", p.messages(t))
	}
	relay.outbox = p.redis
	if relay.sweep(t.Context()); p.messages(t) != 2 {
		t.Errorf("%d messages of what may leave", p.messages(t))
	}
}

func TestHistoryDoublesTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHistory(5 * time.Second)
		e := []rain.Entry{entryOf(1)}
		start := time.Now()
		var at []time.Duration
		for time.Since(start) < 30*time.Minute {
			if due := h.due(e); len(due) == 1 {
				at = append(at, time.Since(start))
				h.sent(due)
			}
			h.prune()
			loop.Sleep(t.Context(), time.Second)
		}
		testenv.Equal(t, fmt.Sprint(at), "[0s 5s 15s 35s 1m15s 2m35s 5m15s 10m15s 15m15s 20m15s 25m15s]",
			"published after")
		if len(h.due([]rain.Entry{entryOf(2)})) != 1 {
			t.Error("another entry has to wait")
		}
		for n := range 200 { // however often it was published
			if h.sent(e); len(h.due(e)) != 0 {
				t.Fatalf("due at once after %d copies more", n+1)
			}
		}
		loop.Sleep(t.Context(), longestWait+time.Minute)
		h.prune()
		if len(h.entries) != 0 {
			t.Error("a settled entry is remembered for ever")
		}
	})
}

func entryOf(n int) rain.Entry {
	return rain.Entry{Ref: rain.EntryRef{Campaign: "c1", ID: fmt.Sprintf("%d-0", n)}}
}
