package campaigns

import (
	"errors"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"redrain/grab/store"
	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// check looks where each packet is.
func (i *interleaving) check() {
	ctx := i.Context()
	where := map[int][]string{}
	put := func(place string, numbers rain.Numbers) {
		for packet := range numbers.Each() {
			where[packet] = append(where[packet], place)
		}
	}
	owner := i.owners()
	for packet := range owner {
		put("the ledger", rain.Numbers{{First: packet, Last: packet}})
	}
	given := i.given()
	put("the sponsor", given)
	moves, err := posting.MoveTable.List(ctx, i.db, "WHERE campaign_id = ?", i.c.ID)
	i.must(err)
	rows := map[string]bool{}
	shards, err := i.grabber.Snapshot(ctx, i.c)
	i.must(err)
	for _, move := range moves {
		rows[move.Lent.Move] = true
		if !shards[move.To].Found {
			continue // it is the shard's, see below
		}
		come, err := i.rdb.HExists(ctx, i.grabber.Keys(i.c.ID, move.To).Borrowed, move.Lent.Move).Result()
		i.must(err)
		if !come {
			put("move "+move.Lent.Move, move.Numbers)
		}
	}
	for n, s := range shards {
		name := fmt.Sprint("shard ", n)
		if !s.Found {
			// A rebuild restores its packets, except for those with an owner by then.
			holds, err := i.ledger.Rebuilds.Holding(ctx, i.c, n)
			i.must(err)
			for packet := range holds.Numbers.Each() {
				if owner[packet] == "" && !has(given, packet) {
					put(name+", lost", rain.Numbers{{First: packet, Last: packet}})
				}
			}
			continue
		}
		put(name, s.Stock)
		for _, lent := range s.Lent {
			if !rows[lent.Move] {
				put(name+", lent", lent.Numbers)
			}
		}
		must := func(e rain.Entry, unreadable error) error {
			for _, w := range e.Wins {
				if key := w.User + " " + w.Drop; owner[w.Packet] != key {
					owner[w.Packet] = key
					put(name+", outbox", rain.Numbers{{First: w.Packet, Last: w.Packet}})
				}
			}
			if e.Reclaim != nil {
				for packet := range e.Reclaim.Numbers.Each() {
					if !has(given, packet) {
						put(name+", outbox", rain.Numbers{{First: packet, Last: packet}})
					}
				}
			}
			return unreadable
		}
		i.must(i.grabber.EachEntry(ctx, i.c, n, "+", must))
	}
	for packet := range i.c.Packets {
		if len(where[packet]) != 1 {
			i.rt.Fatalf("packet %d is in %v", packet, where[packet])
		}
	}
	for key, packet := range i.told {
		if has, is := owner[packet]; is && has != key {
			i.rt.Fatalf("%s received packet %d, which is %s's", key, packet, has)
		}
	}
}

// owners are the players and drops that the ledger has packets for.
func (i *interleaving) owners() map[int]string {
	owner := map[int]string{}
	i.must(i.ledger.Rebuilds.EachAssigned(i.Context(), i.c, rain.Numbers{{First: 0, Last: i.c.Packets - 1}},
		func(k posting.Assigned) error {
			if owner[k.Win.Packet] != "" {
				i.rt.Fatalf("packet %d has two owners", k.Win.Packet)
			}
			owner[k.Win.Packet] = k.Win.User + " " + k.Win.Drop
			return nil
		}))
	return owner
}

// given returns the packets that were returned to the sponsor.
func (i *interleaving) given() (all rain.Numbers) {
	texts, err := sqldb.Column[string](i.Context(), i.db, "SELECT numbers FROM reclaim WHERE campaign_id = ?", i.c.ID)
	i.must(err)
	for _, text := range texts {
		numbers, err := rain.ParseNumbers(text, i.c.Packets)
		i.must(err)
		all = append(all, numbers...)
	}
	return all
}

func has(numbers rain.Numbers, packet int) bool {
	return slices.ContainsFunc(numbers, func(r rain.Range) bool { return r.First <= packet && packet <= r.Last })
}

// end ends the campaign: it rebuilds lost shards, finishes open moves and reclaims the rest.
func (i *interleaving) end() {
	ctx := i.Context()
	finish := func() {
		i.tick()
		i.tryRebuild(i.rebuilder)
		i.check()
		for range 2 {
			i.must(i.lossy.mover(nil).finish(ctx, i.c, i.levels(), i.pace))
		}
		for shard := range interleavedShards {
			i.settle(shard)
		}
		i.check()
	}
	if rapid.Bool().Draw(i.rt, "finished before the close") {
		finish()
	}
	_, err := i.service.Close(ctx, i.c.ID)
	if err != nil && !errors.Is(err, store.ErrNoState) && !errors.Is(err, ErrApply) {
		i.rt.Fatal(err)
	}
	i.c = i.campaign(i.c.ID)
	i.check()
	for range 2 {
		finish()
		i.must(i.grabber.CloseCampaign(ctx, i.c))
	}
	finish()
	owner := i.owners()
	for key, packet := range i.told {
		if owner[packet] != key {
			i.rt.Fatalf("%s received packet %d, which is %q's", key, packet, owner[packet])
		}
	}
	given := i.given()
	for packet := range i.c.Packets {
		if (owner[packet] == "") != has(given, packet) {
			i.rt.Fatalf("packet %d is paid to %q, and returned %v", packet, owner[packet], has(given, packet))
		}
	}
	if n := given.Count() + len(owner); n != i.c.Packets {
		i.rt.Fatalf("%d packets are paid or returned", n)
	}
	if got := i.books(i.c); !got.Balanced || got.Dead != 0 || got.Unsettled != 0 || got.Stock != 0 {
		i.rt.Fatalf("the books: %+v", got)
	}
}
