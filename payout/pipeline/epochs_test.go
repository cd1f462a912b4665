package pipeline

import (
	"context"
	"slices"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger/booking"
	"redrain/payout/ledger/posting"
	"redrain/payout/paytest"
	"redrain/rain"
)

// publisher is one on the pipeline's stream.
func (p *pipeline) publisher(t *testing.T) *Publisher {
	t.Helper()
	return testenv.Got(NewPublisher(p.js, p.namespace, p.Seals.Ring(), paytest.Quiet)).Must(t)
}

// A record is claimed once. The newest one is read with its sequence. A rebuild has decided about all before it.
func TestAnEpochIsClaimedOnce(t *testing.T) {
	t.Parallel()
	for name, back := range backEnds {
		t.Run(name, func(t *testing.T) {
			p, ctx := back(t), t.Context()
			a, b := p.publisher(t), p.publisher(t)
			testenv.Equal(t, testenv.Got(a.Record(ctx, "c1", 0)).Must(t), rain.Epoch{}, "no record")
			first := testenv.Got(a.Claim(ctx, "c1", 0, 0, rain.Epoch{Number: 1, Holder: "R", Moves: 7})).Must(t)
			testenv.WantErr(t, testenv.Err(b.Claim(ctx, "c1", 0, 0, rain.Epoch{Number: 1, Holder: "S"})),
				rain.ErrEpochClaimed)
			testenv.Equal(t, testenv.Got(b.Record(ctx, "c1", 0)).Must(t), first, "the newest")
			testenv.Equal(t, testenv.Got(b.Record(ctx, "c1", 1)).Must(t), rain.Epoch{}, "that of another shard")
			again := testenv.Got(b.Claim(ctx, "c1", 0, first.Seq, rain.Epoch{Number: 2, Holder: "rebuild-x"})).Must(t)
			testenv.WantErr(t, testenv.Err(a.Claim(ctx, "c1", 0, first.Seq, first)), rain.ErrEpochClaimed)
			testenv.Equal(t, testenv.Got(a.Record(ctx, "c1", 0)).Must(t), again, "that of the rebuild")
			testenv.Equal(t, again.From, again.Seq, "it has decided up to")
			// A lost stream has no records.
			testenv.Must(t, p.js.DeleteStream(ctx, a.stream.name()))
			testenv.Equal(t, testenv.Got(a.Record(ctx, "c1", 0)).Must(t), rain.Epoch{}, "no record in a new stream")
			testenv.Must(t, testenv.Err(a.Claim(ctx, "c1", 0, 0, first)))
		})
	}
}

// Entries that came behind the claim of a newer epoch are not paid, and leave the stream. Neither a rebuild nor a new
// master reads them. An entry without an epoch always counts.
func TestAnEntryOfAnOldEpochDoesNotCount(t *testing.T) {
	t.Parallel()
	p, ctx := inProcess(t), t.Context()
	p.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
	publisher := p.publisher(t)
	publish := func(epoch int64, n int, user string) {
		t.Helper()
		e := paytest.Entry("c1", n, paytest.Win(user, n, 10))
		e.Epoch = epoch
		testenv.Must(t, publisher.Publish(ctx, e))
	}
	newest := func(behind uint64) (users []string) {
		t.Helper()
		testenv.Must(t, publisher.Newest(ctx, "c1", 0, behind, func(e rain.Entry) error {
			users = append(users, e.Wins[0].User)
			return nil
		}))
		slices.Sort(users)
		return users
	}
	testenv.Equal(t, newest(0), nil, "an empty stream")
	first := testenv.Got(publisher.Claim(ctx, "c1", 0, 0, rain.Epoch{Number: 1, Holder: "R"})).Must(t)
	publish(1, 1, "before")
	moved := testenv.Got(publisher.Claim(ctx, "c1", 0, first.Seq, rain.Epoch{Number: 1, Holder: "R", Moves: 1})).Must(t)
	publish(1, 2, "moved")
	second := testenv.Got(publisher.Claim(ctx, "c1", 0, moved.Seq, rain.Epoch{Number: 2, Holder: "S"})).Must(t)
	publish(1, 3, "late")
	publish(2, 4, "newer")
	publish(0, 5, "without")
	testenv.Equal(t, newest(0), []string{"before", "moved", "newer", "without"}, "all that counts")
	testenv.Equal(t, newest(second.Seq), []string{"newer", "without"}, "behind the claim")
	_, settler := p.idle(t, SettlerOptions{})
	testenv.Must(t, settler.CatchUp(ctx, "c1", 0))
	check := func() {
		t.Helper()
		for _, user := range []string{"before", "moved", "newer", "without"} {
			p.WantBalance(t, booking.UserAccount(user), 10)
		}
		p.WantBalance(t, booking.UserAccount("late"), 0)
		testenv.Equal(t, p.CountDead(t), 0, "dead letters")
	}
	check()
	stop := p.run(t, p.settlerOn(p.Poster, SettlerOptions{Clock: p.Clock.Now}))
	testenv.Eventually(t, 20*time.Second, "the consumer has nothing left", func() bool {
		consumer, err := p.js.Consumer(context.Background(), publisher.stream.name(), consumerName)
		if err != nil {
			return false
		}
		is, err := consumer.Info(context.Background())
		return err == nil && is.NumPending == 0 && is.NumAckPending == 0
	})
	stop()
	check()
	// Records that another program writes change nothing.
	testenv.Must(t, testenv.Err(p.js.Publish(ctx, publisher.stream.epochSubject("c1", 0), []byte("scribble"))))
	testenv.Equal(t, newest(second.Seq), []string{"newer", "without"}, "after a scribble")
	testenv.WantFail(t, testenv.Err(publisher.Record(ctx, "c1", 0)), "a scribble was read")
}

// When the records of a shard have expired, its numbers begin anew. A settlement worker that knew the old ones pays all
// the same.
func TestNumbersBeginAnewWithoutRecords(t *testing.T) {
	t.Parallel()
	p, ctx := inProcess(t), t.Context()
	c := p.OpenCampaign(t, "c1", rain.Spec{Budget: 100, Packets: 10})
	publisher := p.publisher(t)
	stop := p.run(t, p.settlerOn(p.Poster, SettlerOptions{Clock: p.Clock.Now}))
	defer stop()
	claim := func(number int64, holder string) {
		t.Helper()
		was := testenv.Got(publisher.Record(ctx, "c1", 0)).Must(t)
		testenv.Must(t, testenv.Err(publisher.Claim(ctx, "c1", 0, was.Seq, rain.Epoch{Number: number, Holder: holder})))
	}
	pays := func(epoch int64, n int, user string) {
		t.Helper()
		e := paytest.Entry("c1", n, paytest.Win(user, n, 10))
		e.Epoch = epoch
		testenv.Must(t, publisher.Publish(ctx, e))
		testenv.Eventually(t, 20*time.Second, user+" is paid", func() bool {
			return slices.ContainsFunc(p.Assigned(t, c), func(a posting.Assigned) bool { return a.Win.User == user })
		})
	}
	for i, holder := range []string{"R", "S", "T"} {
		claim(int64(i+1), holder)
	}
	pays(3, 1, "before")
	stream := testenv.Got(p.js.Stream(ctx, publisher.stream.name())).Must(t)
	testenv.Must(t, stream.Purge(ctx)) // as after its messages' longest age
	claim(1, "rebuild-x")
	claim(2, "U")
	pays(2, 2, "after")
}
