package reconcile

import (
	"context"

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
	for n, b := range r.shards {
		foreign, twice := b.holding.put(&b.stock, b.snapshot.Stock)
		r.tooMuch(n, "in its stock", foreign, twice, &b.tooMuchStock)
		foreign, twice = b.holding.put(&b.won, b.outbox.won)
		r.tooMuch(n, "won in its outbox", foreign, twice, &b.tooMuchOutbox)
	}
	return nil
}

// tooMuch reports packets that a shard should not have, and those that it has twice.
func (r *campaignCheck) tooMuch(n int, where string, foreign, twice rain.Numbers, sum *rain.Money) {
	*sum += r.amounts.Sum(foreign) + r.amounts.Sum(twice)
	if len(foreign) > 0 {
		r.foreign(n, where, foreign)
	}
	if len(twice) > 0 {
		r.found.add("packets that are there twice", "shard %d: %s %s twice %s", n, packets(twice), be(twice), where)
	}
}

// foreign reports packets that a shard should not have. The packets of a lost shard are unknown.
func (r *campaignCheck) foreign(n int, where string, foreign rain.Numbers) {
	if !r.known(r.shards[n]) {
		return
	}
	r.found.add("packets in a wrong shard", "shard %d: %s %s %s, but by the split and the moves the shard has no "+
		"such packets", n, packets(foreign), be(foreign), where)
}

// placeReclaims puts reclaimed packets in their place. A reclaim gets those of its packets that are not taken. Without
// rows it assumes that none was taken. If some were, the sums do not match.
func (r *campaignCheck) placeReclaims(context.Context, sqldb.Querier) error {
	if !r.counted() {
		return nil
	}
	r.placeDismissed()
	for n, b := range r.shards {
		posted := map[string]bool{}
		for i := range b.reclaims {
			row := &b.reclaims[i]
			posted[row.ref.ID] = true
			if r.scope.rows && r.known(b) {
				r.placeFree(b, row)
				continue
			}
			foreign, twice := b.holding.put(&b.reclaimed, row.asked)
			if len(foreign) > 0 {
				r.foreign(n, "returned", foreign)
			}
			r.suspect = r.suspect || len(twice) > 0 || row.packets != row.asked.Count()
		}
		for i := range b.outbox.reclaims {
			e := &b.outbox.reclaims[i]
			if posted[e.Ref.ID] || r.letters.HasReclaim(*e) {
				continue
			}
			foreign, twice := b.holding.put(&b.outboxReclaimed, e.Reclaim.Numbers)
			r.tooMuch(n, "returned in its outbox", foreign, twice, &b.tooMuchOutbox)
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
		for n := range r.shards {
			h := &r.shards[n].holding
			for packet := range row.asked.Each() {
				if at, inside := h.index(packet); inside && r.shards[n].reclaimed.add(at, h.count) {
					placed = placed.Add(packet)
				}
			}
		}
		if amount := r.amounts.Sum(row.asked); placed.Count() != row.packets || row.packets != row.asked.Count() ||
			amount != row.amount {
			r.found.add("the reclaim of a dismissed dead letter", "the reclaim of dismissed dead letter %d returned "+
				"%d packets, %d in all, but %s, worth %d, %s what it held", row.at.seq, row.packets, row.amount,
				packets(row.asked), amount, be(row.asked))
		}
	}
}

// placeFree puts the reclaimed packets of a reclaim in their place, after the payouts are known.
func (r *campaignCheck) placeFree(b *shardBooks, row *reclaimRow) {
	var free, foreign rain.Numbers
	for packet := range row.asked.Each() {
		switch at, ok := b.holding.index(packet); {
		case !ok:
			foreign = foreign.Add(packet)
		case !b.paid.has(at) && !b.dead.has(at) && b.reclaimed.add(at, b.holding.count):
			free = free.Add(packet)
		}
	}
	if len(foreign) > 0 {
		r.foreign(b.snapshot.Shard, "returned", foreign)
	}
	if amount := r.amounts.Sum(free); free.Count() != row.packets || amount != row.amount {
		r.found.add("a reclaim of assigned packets", "the reclaim of entry %s returned %d packets, %d in all, but %d "+
			"of its packets were unassigned, %d in all", row.ref, row.packets, row.amount, free.Count(), amount)
	}
}

// fits checks that the packets found nowhere else equal the tally's paid packets.
func (r *campaignCheck) fits() bool {
	var packets, won, counted int64
	var amount rain.Money
	for _, b := range r.shards {
		for _, c := range contradictions {
			if len(b.holding.list(func(w int) uint64 { return c.word(b, w) })) > 0 {
				return false
			}
		}
		// These packets must be the paid ones.
		paid := b.holding.list(func(w int) uint64 { return ^b.elsewhere(w) | b.paid.word(w) })
		packets += int64(paid.Count())
		amount += r.amounts.Sum(paid)
		if b.snapshot.Found {
			unpaid := b.holding.list(func(w int) uint64 { return (b.won.word(w) | b.dead.word(w)) &^ b.paid.word(w) })
			won += int64(paid.Count() + unpaid.Count())
			counted += int64(b.snapshot.Won)
		}
	}
	return packets == r.all.Paid-r.later && amount == r.astray && won == counted
}

// elsewhere returns the packets in any place but the ledger's payouts.
func (b *shardBooks) elsewhere(w int) uint64 {
	return b.stock.word(w) | b.won.word(w) | b.outboxReclaimed.word(w) | b.dead.word(w) | b.deadReclaimed.word(w) |
		b.reclaimed.word(w)
}

// contradictions are the sets of packets that are in two places.
var contradictions = []struct {
	what string
	word func(b *shardBooks, w int) uint64
}{
	{"can be won, but were won before", func(b *shardBooks, w int) uint64 {
		return b.stock.word(w) & (b.won.word(w) | b.dead.word(w) | b.paid.word(w))
	}},
	{"can be won, but went back to the sponsor", func(b *shardBooks, w int) uint64 {
		return b.stock.word(w) & (b.outboxReclaimed.word(w) | b.deadReclaimed.word(w) | b.reclaimed.word(w))
	}},
	{"went to players, and back to the sponsor too", func(b *shardBooks, w int) uint64 {
		return (b.won.word(w) | b.paid.word(w) | b.dead.word(w)) & (b.outboxReclaimed.word(w) | b.reclaimed.word(w))
	}},
	{"went back to the sponsor twice", func(b *shardBooks, w int) uint64 {
		return b.outboxReclaimed.word(w) & (b.deadReclaimed.word(w) | b.reclaimed.word(w))
	}},
}

// checkPlaces reports a shard's packets that are in no place or in two. All payouts were read before.
func (r *campaignCheck) checkPlaces(n int) {
	b := r.shards[n]
	nowhere := b.holding.list(func(w int) uint64 { return ^(b.elsewhere(w) | b.paid.word(w)) })
	if len(nowhere) > 0 {
		r.found.add("packets that are nowhere", "shard %d: %s, worth %d, %s neither in its stock nor lent nor won nor "+
			"returned", n, packets(nowhere), r.amounts.Sum(nowhere), be(nowhere))
	}
	for _, c := range contradictions {
		if both := b.holding.list(func(w int) uint64 { return c.word(b, w) }); len(both) > 0 {
			r.found.add("packets in two places", "shard %d: %s, worth %d, %s", n, packets(both), r.amounts.Sum(both),
				c.what)
		}
	}
}
