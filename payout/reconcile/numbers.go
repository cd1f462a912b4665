package reconcile

import (
	"context"
	"slices"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// place puts the packets of each shard in Redis in their places.
func (r *campaignCheck) place(ctx context.Context, _ sqldb.Querier) error {
	if !r.counted() {
		return nil
	}
	if err := r.hold(ctx); err != nil {
		return err
	}
	for _, n := range r.sortedShards() {
		b := r.shards[n]
		strays, twice := b.holding.put(&b.stock, b.snapshot.Stock)
		r.tooMuch(n, "in its stock", strays, twice, &b.tooMuchStock)
		strays, twice = b.holding.put(&b.won, b.outbox.won)
		r.tooMuch(n, "won in its outbox", strays, twice, &b.tooMuchOutbox)
	}
	return nil
}

// tooMuch reports packets that a shard should not have, and those that it has twice.
func (r *campaignCheck) tooMuch(n int, where string, strays, twice rain.Numbers, sum *rain.Money) {
	*sum += r.amounts.Sum(strays) + r.amounts.Sum(twice)
	if len(strays) > 0 {
		r.foreign(n, where, strays)
	}
	if len(twice) > 0 {
		r.found.add("packets that are there twice", where+shardName(n)+twice.String(), "shard %d: %s %s twice %s", n,
			packets(twice), be(twice), where)
	}
}

// foreign reports packets that a shard should not have. The packets of a lost shard are unknown.
func (r *campaignCheck) foreign(n int, where string, strays rain.Numbers) {
	if !r.known(r.shards[n]) {
		return
	}
	r.found.add("packets in a wrong shard", where+shardName(n)+strays.String(), "shard %d: %s %s %s, but by the split "+
		"and the moves the "+
		"shard has no such packets", n, packets(strays), be(strays), where)
}

// placeReclaims puts returned packets in their place. A reclaim returns the unassigned ones of its packets. Without
// rows it assumes that all were unassigned. If some were not, the sums do not match.
func (r *campaignCheck) placeReclaims(context.Context, sqldb.Querier) error {
	if !r.counted() {
		return nil
	}
	r.placeDismissed()
	for _, n := range r.sortedShards() {
		b := r.shards[n]
		posted := map[string]bool{}
		for i := range b.reclaims {
			row := &b.reclaims[i]
			posted[row.ref.ID] = true
			b.gave(row.at, row.asked)
			if r.scope.rows && r.known(b) {
				r.placeFree(b, row)
				continue
			}
			strays, twice := b.holding.put(&b.reclaimed, row.asked)
			if len(strays) > 0 {
				r.foreign(n, "returned", strays)
			}
			r.suspect = r.suspect || len(twice) > 0 || row.packets != row.asked.Count()
		}
		for i := range b.outbox.reclaims {
			e := &b.outbox.reclaims[i]
			if posted[e.Ref.ID] || r.letters.HasReclaim(*e) {
				continue
			}
			b.given = append(b.given, e.Reclaim.Numbers...)
			strays, twice := b.holding.put(&b.returned, e.Reclaim.Numbers)
			r.tooMuch(n, "returned in its outbox", strays, twice, &b.tooMuchOutbox)
		}
		if b.snapshot.Found {
			r.checkReturned(n)
		}
	}
	return nil
}

// placeDismissed puts the packets of dismissed dead letters in their place. They returned after the rest of the
// campaign was over.
func (r *campaignCheck) placeDismissed() {
	for i := range r.dismissed {
		row := &r.dismissed[i]
		var placed rain.Numbers
		for _, n := range r.sortedShards() {
			h := &r.shards[n].holding
			for packet := range row.asked.Each() {
				if at, inside := h.index(packet); inside && r.shards[n].reclaimed.add(at, h.count) {
					placed = placed.Add(packet)
				}
			}
		}
		if amount := r.amounts.Sum(row.asked); placed.Count() != row.packets || row.packets != row.asked.Count() ||
			amount != row.amount {
			r.found.add("the reclaim of a dismissed dead letter", row.ref.String(),
				"the reclaim of dismissed dead letter %d returned "+
					"%d packets, %d in all, but %s, worth %d, %s what it held", row.at.seq, row.packets, row.amount,
				packets(row.asked), amount, be(row.asked))
		}
	}
}

// checkReturned compares a shard's own returned packets with those of its entries. A rebuilt shard may have packets
// of earlier entries.
func (r *campaignCheck) checkReturned(n int) {
	b := r.shards[n]
	if more := rain.Remaining(b.snapshot.Returned, slices.Concat(b.given, b.givenBefore)); len(more) > 0 {
		r.found.add("a stock that was changed", shardName(n)+more.String(), "shard %d: its stock says that it "+
			"returned %s, but no entry of its outbox did", n, packets(more))
	}
	if less := rain.Remaining(b.given, b.snapshot.Returned); len(less) > 0 {
		r.found.add("a stock that was changed", shardName(n)+less.String(), "shard %d: an entry of its outbox "+
			"returned %s, but its stock does not say so", n, packets(less))
	}
}

// placeFree puts the returned packets of a reclaim in their place, after the payouts are known.
func (r *campaignCheck) placeFree(b *shardBooks, row *reclaimRow) {
	var free, strays rain.Numbers
	for packet := range row.asked.Each() {
		switch at, ok := b.holding.index(packet); {
		case !ok:
			strays = strays.Add(packet)
		case !b.paid.has(at) && !b.dead.has(at) && b.reclaimed.add(at, b.holding.count):
			free = free.Add(packet)
		}
	}
	if len(strays) > 0 {
		r.foreign(b.snapshot.Shard, "returned", strays)
	}
	if amount := r.amounts.Sum(free); free.Count() != row.packets || amount != row.amount {
		r.found.add("a reclaim of assigned packets", row.ref.String(), "the reclaim of entry %s returned %d "+
			"packets, %d in all, but %d of its packets were unassigned, %d in all", row.ref, row.packets, row.amount,
			free.Count(), amount)
	}
}

// checkState compares a shard's own counts with its lists.
func (r *campaignCheck) checkState(n int) {
	b := r.shards[n]
	if got, want := b.snapshot.Left, b.snapshot.Stock.Count(); got != want {
		r.found.add("a state that is not its stock", shardName(n)+" "+delta(rain.Money(got), rain.Money(want)),
			"shard %d: its state says that %d packets are left, but its stock has %d", n, got, want)
	}
}

// fits reports whether each packet is in one place, by counts and sums: those in no other place must be paid, by the
// tally.
func (r *campaignCheck) fits() bool {
	var packets, won, counted int64
	var amount rain.Money
	for _, b := range r.shards {
		if len(b.inTwoPlaces()) > 0 {
			return false
		}
		paid := b.mustBePaid()
		packets += int64(paid.Count())
		amount += r.amounts.Sum(paid)
		if b.snapshot.Found {
			won += int64(paid.Count() + b.wonNotPaid().Count())
			counted += int64(b.snapshot.Won)
		}
	}
	return packets == r.all.Paid-r.later && amount == r.astray && won == counted
}

// mustBePaid returns the packets in no other place, and those that are known to be paid.
func (b *shardBooks) mustBePaid() rain.Numbers {
	return b.holding.list(func(w int) uint64 {
		elsewhere := b.stock.word(w) | b.won.word(w) | b.returned.word(w) | b.dead.word(w) | b.deadReturned.word(w) |
			b.reclaimed.word(w)
		return ^elsewhere | b.paid.word(w)
	})
}

// wonNotPaid returns the packets that were won and are not paid yet.
func (b *shardBooks) wonNotPaid() rain.Numbers {
	return b.holding.list(func(w int) uint64 { return (b.won.word(w) | b.dead.word(w)) &^ b.paid.word(w) })
}

// inTwoPlaces returns the packets in two contradicting places.
func (b *shardBooks) inTwoPlaces() rain.Numbers {
	return b.holding.list(func(w int) uint64 {
		free, given := b.stock.word(w), b.returned.word(w)|b.deadReturned.word(w)|b.reclaimed.word(w)
		won := b.won.word(w) | b.dead.word(w) | b.paid.word(w)
		return free&given | free&won | given&won | b.won.word(w)&b.dead.word(w)&^b.paid.word(w) |
			b.returned.word(w)&(b.deadReturned.word(w)|b.reclaimed.word(w)) | b.deadReturned.word(w)&b.reclaimed.word(w)
	})
}

// checkPlaces reports a shard's packets that are in no place or in two. All payouts were read before.
func (r *campaignCheck) checkPlaces(n int) {
	b := r.shards[n]
	h := &b.holding
	nowhere := h.list(func(w int) uint64 {
		return ^(b.stock.word(w) | b.won.word(w) | b.returned.word(w) | b.dead.word(w) | b.deadReturned.word(w) |
			b.reclaimed.word(w) | b.paid.word(w))
	})
	if len(nowhere) > 0 {
		r.found.add("packets that are nowhere", shardName(n)+nowhere.String(), "shard %d: %s, worth %d, %s neither "+
			"in its "+
			"stock "+
			"nor lent nor won nor returned", n, packets(nowhere), r.amounts.Sum(nowhere), be(nowhere))
	}
	for _, both := range []struct {
		what string
		word func(w int) uint64
	}{
		{"can be won, but were won before", func(w int) uint64 {
			return b.stock.word(w) & (b.won.word(w) | b.dead.word(w) | b.paid.word(w))
		}},
		{"can be won, but went back to the sponsor", func(w int) uint64 {
			return b.stock.word(w) & (b.returned.word(w) | b.deadReturned.word(w) | b.reclaimed.word(w))
		}},
		{"went to players, and back to the sponsor too", func(w int) uint64 {
			return b.won.word(w)&(b.returned.word(w)|b.reclaimed.word(w)) |
				(b.paid.word(w)|b.dead.word(w))&(b.returned.word(w)|b.reclaimed.word(w))
		}},
		{"went back to the sponsor twice",
			func(w int) uint64 { return b.returned.word(w) & (b.deadReturned.word(w) | b.reclaimed.word(w)) }},
	} {
		if numbers := h.list(both.word); len(numbers) > 0 {
			r.found.add("packets in two places", shardName(n)+both.what+numbers.String(), "shard %d: %s, worth %d, "+
				"%s", n,
				packets(numbers), r.amounts.Sum(numbers), both.what)
		}
	}
}
