package grab_test

import (
	"context"
	"fmt"

	"redrain/grab"
	"redrain/grab/confirm"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/embedded"
	"redrain/rain"
)

// A campaign of one packet, from its stock to its outbox.
func Example() {
	ctx := context.Background()
	server, err := embedded.Redis()
	check(err)
	defer server.Close()
	rdb, err := store.Connect(ctx, server.Addr())
	check(err)
	defer func() { _ = rdb.Close() }()

	clock := store.NewClock(rdb, nil)
	check(clock.Sync(ctx))
	s := store.New(rdb, store.Options{Clock: clock.Now})
	stock, outbox := store.NewStock(s), store.NewOutbox(s)
	// A tap carries the address of its result: here a channel.
	answer := func(taps []*grab.Tap[chan outcome.Result]) {
		for _, t := range taps {
			t.Caller <- t.Result()
		}
	}
	gates := grab.NewGates(s, confirm.New(s, confirm.Redis, nil, nil), answer,
		grab.Options{Clock: clock.Now, TapRate: 20})
	defer gates.Close()

	c := &rain.Campaign{ID: "gala", Status: rain.Open, Revision: 1,
		Spec: rain.Spec{Budget: 88, Packets: 1, Min: 1, Split: rain.Even, WinsPerUser: 1, Shards: 1}}
	check(stock.Open(ctx, c, clock.Now()+10_000))
	c.Revision++
	c.Rains = []rain.Rain{{
		ID: "r1", StartsAt: clock.Now() - 1_000,
		Settings: rain.Settings{DurationMS: 10_000, DropsPerSecond: 8, FallMS: 4_000},
	}}
	check(stock.Apply(ctx, c))

	gate := gates.Gate(c)
	tap := func(user, drop string) {
		id, ok := rain.ParseDrop(drop)
		if !ok {
			panic(drop)
		}
		later := make(chan outcome.Result, 1)
		r, known := gate.Tap(&grab.Tap[chan outcome.Result]{User: user, Drop: id, Caller: later})
		if !known {
			r = <-later
		}
		fmt.Println(user, "taps", drop, "and it is", r.Outcome, r.Amount)
	}
	tap("alice", "0.0")
	tap("alice", "0.0") // the same tap again: the same win
	tap("alice", "0.1")
	tap("bob", "0.0")
	tap("bob", "100.0")

	entries, _, err := outbox.Page(ctx, c.ID, 0, "", 100)
	check(err)
	amounts, err := rain.NewAmounts(c)
	check(err)
	for _, w := range entries[0].Wins {
		fmt.Println("to be paid:", amounts.Of(w.Packet), "to", w.User, "as", rain.ClaimID(c.ID, w.Packet))
	}

	// Output:
	// alice taps 0.0 and it is won 0.88
	// alice taps 0.0 and it is won 0.88
	// alice taps 0.1 and it is already 0.00
	// bob taps 0.0 and it is sold_out 0.00
	// bob taps 100.0 and it is unknown_drop 0.00
	// to be paid: 0.88 to alice as gala-0
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
