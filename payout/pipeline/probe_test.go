package pipeline

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"redrain/internal/testenv"
	"redrain/payout/paytest"
	"redrain/rain"
)

// Probes are stored and not settled, and the server deletes them. They are no unsettled wins.
func TestProbes(t *testing.T) {
	t.Parallel()
	p := inProcess(t)
	publisher := testenv.Got(NewPublisher(p.js, p.namespace, paytest.Ring, paytest.Quiet)).Must(t)
	settler := p.settlerOn(p.Poster, SettlerOptions{})
	oldest := func(want func(at int64) bool, when string) {
		t.Helper()
		if at, err := settler.OldestUnsettled(t.Context()); err != nil || !want(at) {
			t.Errorf("the oldest unsettled message, %s: %d, %v", when, at, err)
		}
	}
	none := func(at int64) bool { return at == 0 }
	oldest(none, "without a stream")
	for range 2 { // the first makes the stream
		testenv.Must(t, publisher.Probe(t.Context()))
	}
	oldest(none, "without a consumer")
	testenv.Must(t, settler.Check(t.Context()))
	consumer := testenv.Got(settler.stream.puller(t.Context())).Must(t)
	testenv.Must(t, publisher.Probe(t.Context()))
	oldest(none, "with probes only")
	stream := testenv.Got(p.js.Stream(t.Context(), settler.stream.name())).Must(t)
	testenv.Equal(t, stream.CachedInfo().State.Msgs, 3, "probes in the stream")
	stop := testenv.Run(t, settler.Run)
	testenv.Eventually(t, time.Minute, "the probes are acknowledged", func() bool {
		info := testenv.Got(consumer.Info(t.Context())).Must(t)
		return info.NumPending == 0 && info.NumAckPending == 0
	})
	stop()
	testenv.Equal(t, len(p.dead)+p.CountDead(t), 0, "dead letters")

	win := rain.Entry{Ref: rain.EntryRef{Campaign: "c", ID: "1-1"}, SealedAt: 1,
		Wins: []rain.Win{{User: "u", Drop: "0.0", Packet: 1}}}
	began := time.Now().Add(-time.Second).UnixMilli()
	recent := func(at int64) bool { return at >= began && at <= time.Now().UnixMilli()+1000 }
	testenv.Must(t, publisher.Publish(t.Context(), win))
	testenv.Must(t, publisher.Probe(t.Context()))
	oldest(recent, "with a win")
	batch := testenv.Got(consumer.FetchNoWait(10)).Must(t)
	var got []jetstream.Msg
	for m := range batch.Messages() {
		got = append(got, m)
	}
	testenv.Equal(t, len(got), 2, "messages, the win before the probe")
	oldest(recent, "with a win that is being settled")
	for _, m := range got {
		testenv.Must(t, m.DoubleAck(t.Context()))
	}
	oldest(none, "with a win that is settled")
	testenv.Eventually(t, 2*probeKept, "the probes are deleted", func() bool {
		return testenv.Got(stream.Info(t.Context())).Must(t).State.Msgs == 1
	})
}
