package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"redrain/grab/store"
	"redrain/internal/embedded"
	"redrain/internal/seal"
	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// ranking notes the ranked totals.
type ranking struct{ ranked []store.Ranked }

func (r *ranking) Rank(_ context.Context, winners []store.Winners) error {
	for _, w := range winners {
		r.ranked = append(r.ranked, w.Totals...)
	}
	return nil
}

// newTestBus is a bus on a NATS server of its own.
func newTestBus(t *testing.T) *Bus {
	t.Helper()
	own, err := embedded.NATS("")
	testenv.Must(t, err)
	nc, err := own.Connect()
	testenv.Must(t, err)
	t.Cleanup(func() {
		nc.Close()
		if err := own.Close(); err != nil {
			t.Error(err)
		}
	})
	return NewBus(nc, testBusOptions())
}

// testBusOptions are those of a bus on namespace rr.
func testBusOptions() BusOptions {
	return BusOptions{Namespace: "rr", Sealer: seal.NewRing(seal.Secret{1}),
		Clock: func() int64 { return time.Now().UnixMilli() }, Log: slog.New(slog.DiscardHandler)}
}

// listen subscribes to a subject of the bus. The returned function returns the notices since its last call.
func listen[T any](t *testing.T, bus *Bus, subject string,
	read func([]byte) (T, error)) func() (notices []T) {
	t.Helper()
	heard, err := bus.nc.SubscribeSync(subject)
	testenv.Must(t, err)
	return func() (notices []T) {
		t.Helper()
		if err := bus.nc.Flush(); err != nil { // notices published before it have come back by then
			t.Fatal(err)
		}
		for {
			if waiting, _, err := heard.Pending(); err != nil || waiting == 0 {
				return notices
			}
			m, err := heard.NextMsg(time.Second)
			testenv.Must(t, err)
			data, err := bus.open(m)
			testenv.Must(t, err)
			notice, err := read(data)
			testenv.Must(t, err)
			notices = append(notices, notice)
		}
	}
}

// All nodes receive the players of a batch, and a short notice of the newest ten wins. A copy of an entry is published
// again: the nodes ignore it. Each player with a total is ranked once in a batch.
func TestNotifierTells(t *testing.T) {
	bus, ranked := newTestBus(t), &ranking{}
	settled, won := listen(t, bus, "rr.control.settled.*", readSettled),
		listen(t, bus, "rr.control.won.c", readJSON[Won])
	n := NewNotifier(ranked, bus, slog.New(slog.DiscardHandler))
	var batch []posting.Settlement
	for i := range 40 {
		batch = append(batch, posting.Settlement{Campaign: "c", Claim: rain.ClaimID("c", i),
			User:   fmt.Sprintf("player-%d", i),
			Packet: i, Amount: rain.Money(i), Balance: 1_000, New: i > 0, Total: rain.Money(i),
			Entry: rain.EntryRef{Campaign: "c", ID: "1-0"}})
	}
	twice := batch[39]
	twice.Claim, twice.Packet = "c-40", 40 // the same player once more
	batch = append(batch, twice)
	for _, copies := range []func(context.Context, []posting.Settlement){n.Settled, n.Settled, n.Retried} {
		copies(t.Context(), batch)
		told := map[string]int{}
		for _, notice := range settled() {
			testenv.Equal(t, notice.Campaign, "c", "the notice's campaign")
			for _, c := range notice.Claims {
				told[c.Claim]++
			}
		}
		if len(told) != 41 || told["c-0"] != 1 || told["c-40"] != 1 {
			t.Errorf("received %v", told)
		}
		short := won()
		if len(short) != 1 || len(short[0].Winners) != wonAtOnce {
			t.Fatalf("all nodes receive %v", short)
		}
		last := short[0].Winners[wonAtOnce-1]
		if last.User != "player-39" || short[0].Winners[0].Amount != 40-wonAtOnce+1 {
			t.Errorf("all nodes receive %v", short)
		}
		if len(ranked.ranked) != 39 { // 0 has no total
			t.Errorf("%d are ranked", len(ranked.ranked))
		}
		ranked.ranked = nil
	}
	batch[5].New = false
	n.Settled(t.Context(), batch[5:6])
	if len(settled()) != 1 || len(won()) != 0 {
		t.Error("a win that is not new is shown to all")
	}
}

// TestBusGoesOnAfterAPanic: what one message makes of its listener ends that message only.
func TestBusGoesOnAfterAPanic(t *testing.T) {
	bus := newTestBus(t)
	heard := make(chan string, 1)
	nothing := Listener{
		Changed: func(campaign string, _ int64) {
			if campaign == "bad" {
				panic("torn")
			}
			heard <- campaign
		},
		Settled: func(string, Settled) {}, Won: func(string, Won) {}, Figures: func(string, Figures) {},
		SoldOut: func(string, rain.Lane) {}, Dry: func(string, DryShard) {},
		Alarm: func(Alarm) {}, Restocked: func(string, int) {}, Restored: func(string) {},
		Withdrawn: func(Withdrawn) {},
	}
	testenv.Must(t, bus.Listen(nil, nothing))
	bus.Changed(&rain.Campaign{ID: "bad"})
	bus.Changed(&rain.Campaign{ID: "good"})
	select {
	case got := <-heard:
		testenv.Equal(t, got, "good", "received after a panic")
	case <-time.After(10 * time.Second):
		t.Fatal("nothing is heard after a panic")
	}
}

// TestTheBusReceivesAfterABreak: the library sends the subscriptions again.
func TestTheBusReceivesAfterABreak(t *testing.T) {
	server := testenv.StartNATS(t)
	nc := testenv.Got(nats.Connect(server.URL, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))).Must(t)
	t.Cleanup(nc.Close)
	bus := NewBus(nc, testBusOptions())
	heard := make(chan string, 1000)
	testenv.Must(t, subscribe(bus, nil, topicChanged, "*", readJSON,
		func(campaign string, _ int64) { heard <- campaign }))
	server.Kill()
	server.Start()
	testenv.Eventually(t, 20*time.Second, "a notice arrives", func() bool {
		bus.Changed(&rain.Campaign{ID: "c"})
		return nc.FlushTimeout(time.Second) == nil && len(heard) > 0
	})
}
