package cluster

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/nats-io/nats.go"

	"redrain/grab/grabtest"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// BenchmarkTell tells of a batch of 500 wins in ten outbox entries, as a settlement worker does after each COMMIT,
// on a real Redis and a real NATS.
func BenchmarkTell(b *testing.B) {
	rdb, err := store.Connect(testenv.Redis(b))
	if err != nil {
		b.Fatal(err)
	}
	nc, err := nats.Connect(testenv.NATS(b))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { nc.Close(); _ = rdb.Close() })
	ns, log := testenv.Namespace(b), slog.New(slog.DiscardHandler)
	grabber := grabtest.NewNode(rdb, grabtest.Options{Namespace: ns})
	o := testBusOptions()
	o.Namespace = ns
	n := NewNotifier(grabber, NewBus(nc, o), log)
	b.Cleanup(grabber.Close)
	const wins, perEntry = 500, 50
	settlements := make([]posting.Settlement, wins)
	for i := range settlements {
		settlements[i] = posting.Settlement{Campaign: "c1", Claim: rain.ClaimID("c1", i),
			User:   fmt.Sprintf("player-%d", i),
			Packet: i, Drop: "7.3", Amount: 88, Balance: 88, Total: 88, New: true}
	}
	b.ReportAllocs()
	for round := 0; b.Loop(); round++ {
		for i := range settlements {
			settlements[i].Entry = rain.EntryRef{Campaign: "c1", ID: fmt.Sprintf("%d-%d", round+1, i/perEntry)}
		}
		n.Settled(b.Context(), settlements)
	}
	b.ReportMetric(float64(b.N)*wins/b.Elapsed().Seconds(), "wins/s")
}
