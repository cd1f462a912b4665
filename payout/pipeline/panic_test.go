package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/internal/loop"
	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// A panic of a settler's or a relay's round is logged and counted, and the next rounds settle everything.
func TestPanicEndsOneRound(t *testing.T) {
	t.Parallel()
	p, c := opened(t, inProcess, rain.Spec{Budget: 100, Packets: 10})
	reg := prometheus.NewRegistry()
	var alarms atomic.Int32
	recoverer := testenv.Got(loop.NewRecoverer(reg, paytest.Quiet, func(string, string) { alarms.Add(1) })).Must(t)
	var reads atomic.Int32
	relay := p.relay(t, RelayOptions{SweepEvery: 10 * time.Millisecond, Patience: 50 * time.Millisecond,
		Recoverer: recoverer})
	relay.outbox = &panickingPages{Outbox: p.redis, first: &reads}
	var posts atomic.Int32
	settler := p.settlerOn(&between{p.Poster, func([]rain.Entry) error {
		if posts.Add(1) == 1 {
			panic("broken")
		}
		return nil
	}}, SettlerOptions{Workers: 1, Recoverer: recoverer})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- relay.Run(ctx) }()
	go func() { ended <- settler.Run(ctx) }()
	p.redis.Win("c1", 0, "u1", "u2")
	testenv.Eventually(t, time.Minute, "both rounds have panicked", func() bool { return alarms.Load() == 2 })
	p.redis.Win("c1", 0, "u3")
	// Sooner than JetStream redelivers a message that was not nacked.
	p.eventuallySettled(t, ackWait/2, c, 3)
	cancel()
	for range 2 {
		testenv.Must(t, <-ended)
	}
	testenv.Got(testutil.GatherAndCount(reg, "redrain_panics_total")).Want(t, 2, "parts have panicked")
}

// panickingPages panics at the first page.
type panickingPages struct {
	Outbox
	first *atomic.Int32
}

func (o *panickingPages) Page(ctx context.Context, campaign string, shard int, after string, limit int) (
	[]rain.Entry, string, error,
) {
	if o.first.Add(1) == 1 {
		panic("broken")
	}
	return o.Outbox.Page(ctx, campaign, shard, after, limit)
}

// panickingLedger is a ledger that panics at a certain player.
type panickingLedger struct {
	*posting.Poster
	attempts bool // Attempt panics, too
}

func breakOver(e rain.Entry) {
	for _, w := range e.Wins {
		if w.User == "broken" {
			panic("broken")
		}
	}
}

func (l *panickingLedger) Post(ctx context.Context, entries []rain.Entry) (posting.Posted, error) {
	for _, e := range entries {
		breakOver(e)
	}
	return l.Poster.Post(ctx, entries)
}

func (l *panickingLedger) Attempt(ctx context.Context, e rain.Entry, cause error,
	limit int) (posting.Attempted, error) {
	if l.attempts {
		breakOver(e)
	}
	return l.Poster.Attempt(ctx, e, cause, limit)
}

// An entry that makes the settler panic does not affect others. It becomes a dead letter after the usual number of
// tries, with the panic as its reason. If Attempt panics, too, the whole message is kept, and the entry stays in its
// outbox.
func TestPanicBecomesADeadLetter(t *testing.T) {
	t.Parallel()
	for _, attempts := range []bool{false, true} {
		for name, back := range backEnds {
			t.Run(fmt.Sprintf("%s, attempts break %v", name, attempts), func(t *testing.T) {
				t.Parallel()
				p, _ := opened(t, back, rain.Spec{Budget: 100, Packets: 10})
				p.redis.Win("c1", 0, "u1")
				p.redis.Win("c1", 0, "broken")
				p.redis.Win("c1", 0, "u2")
				entries := p.publishOutbox(t, 0, 1)
				p.run(t, p.settlerOn(&panickingLedger{p.Poster, attempts}, SettlerOptions{Workers: 1, Attempts: 3}))
				testenv.Eventually(t, ackWait/2, "a dead letter", func() bool { return len(p.dead) > 0 })
				letter := <-p.dead
				paid := testenv.Got3(p.Paid(t.Context(), "c1")).Must(t)
				if paid != 2 || !strings.Contains(letter.Reason, "a fault of the program: broken") {
					t.Errorf("%d are paid; the dead letter is %+v", paid, letter)
				}
				kind, left := posting.LetterPay, 0
				if attempts {
					kind, left = posting.LetterMessage, 1
				}
				testenv.Eventually(t, ackWait/2, "the rest of the outbox", func() bool {
					return p.redis.Waiting() == left
				})
				info := p.consumer(t)
				if letter.Kind != kind || info.NumPending != 0 || len(p.dead) != 0 {
					t.Errorf("a dead letter of kind %s, %d more, messages %+v", letter.Kind, len(p.dead), info)
				}
				// After the fix, the dead letter is paid. A message is not, but its entry comes again from the
				// outbox.
				settled, err := p.Retry(t.Context(), letter.Claim)
				if attempts {
					if !errors.Is(err, ledger.ErrStillDead) {
						t.Error(err)
					}
					settled = p.MustPost(t, entries[1]).Settled
				} else {
					testenv.Must(t, err)
				}
				if len(settled) != 1 || settled[0].User != "broken" {
					t.Errorf("%+v", settled)
				}
				p.CheckBooks(t)
			})
		}
	}
}

// panickingMessage is a message that cannot be decoded without a panic.
type panickingMessage struct {
	jetstream.Msg
	read *bool
}

func (m panickingMessage) Data() []byte {
	if !*m.read {
		*m.read = true
		panic("broken")
	}
	return m.Msg.Data()
}

// A message that panics in decoding is nacked at once, and becomes a dead letter at its last delivery. The other
// messages are decoded.
func TestPanicOfDecodingBecomesADeadLetter(t *testing.T) {
	t.Parallel()
	p := inProcess(t)
	p.publish(t, 1, paytest.Entry("c1", 1, paytest.Win("u1", 0, 10)), paytest.Entry("c1", 2, paytest.Win("u2", 1, 10)))
	s := p.settlerOn(p.Poster, SettlerOptions{Attempts: 3})
	messages := testenv.Got(s.pull(t.Context(), 2)).Must(t)
	for delivered := 1; len(p.dead) == 0; delivered++ {
		read := false
		messages[0] = panickingMessage{messages[0], &read}
		entries := s.readable(t.Context(), messages, 10, newFetchSizer(10))
		if delivered == 1 && (len(entries) != 1 || entries[0].entry.Ref.ID != "2-0") {
			t.Fatalf("%+v", entries)
		}
		if delivered > 3 {
			t.Fatal("no dead letter")
		}
		if len(p.dead) == 0 {
			testenv.Eventually(t, ackWait/2, "the message comes again", func() bool {
				var err error
				messages, err = s.pull(t.Context(), 1)
				return err == nil && len(messages) == 1
			})
		} else if delivered != 3 {
			t.Errorf("a dead letter after %d deliveries", delivered)
		}
	}
	if d := <-p.dead; d.Kind != posting.LetterMessage || d.Packet != -1 || d.Shard != -1 ||
		!strings.Contains(d.Reason, "broken") {
		t.Errorf("%+v", d)
	}
	testenv.Equal(t, p.CountDead(t), 1, "dead letters")
}

// panickingNeighbours are an outbox whose first Remove panics, and a notifier that always panics.
type panickingNeighbours struct {
	Outbox
	removed atomic.Int32
}

func (n *panickingNeighbours) Remove(ctx context.Context, refs []rain.EntryRef) error {
	if n.removed.Add(1) == 1 {
		panic("broken")
	}
	return n.Outbox.Remove(ctx, refs)
}

func (*panickingNeighbours) Settled(context.Context, []posting.Settlement) { panic("broken") }

// After a panic of the outbox the messages come again sooner than by JetStream's own redelivery. A panic of the
// notifier delays nothing.
func TestPanicOfNeighbours(t *testing.T) {
	t.Parallel()
	p, c := opened(t, inProcess, rain.Spec{Budget: 100, Packets: 10})
	p.rainOn(c, 10)
	p.publishOutbox(t, 0, 1)
	neighbours := &panickingNeighbours{Outbox: p.redis}
	p.run(t, NewSettler(p.js, p.Seals.Ring(), p.Poster, p.DeadLetters, neighbours, neighbours,
		SettlerOptions{Namespace: p.namespace, Workers: 1, Log: paytest.Quiet}))
	p.eventuallySettled(t, ackWait/2, c, 10)
	p.CheckBooks(t)
}
