package posting

import (
	"context"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// A closing seal covers campaign, shard and time, because the numbers that are left are known to Redis only. So the
// numbers of a reclaim are held against what the moves in the ledger leave of the shard: a row is written before its
// packets come to a shard, so what a shard has is never more than that.

// readHoldings reads what the shards can have that reclaims among the entries are of.
func readHoldings(ctx context.Context, q sqldb.Querier, entries []rain.Entry,
	campaigns map[string]terms) (map[shardKey]*packetSet, error) {
	var holdings map[shardKey]*packetSet // nearly always nil: most batches reclaim nothing
	for i := range entries {
		c, known := campaigns[entries[i].Ref.Campaign]
		shard := entries[i].Ref.Shard
		if entries[i].Reclaim == nil || !known || shard < 0 || shard >= max(c.Shards, 1) {
			continue
		}
		key := shardKey{c.ID, shard}
		if _, read := holdings[key]; read {
			continue
		}
		moves, err := MoveTable.List(ctx, q, ofShard, c.ID, shard, shard)
		if err != nil {
			return nil, fmt.Errorf("the moves of shard %d of campaign %s: %w", shard, c.ID, err)
		}
		if holdings == nil {
			holdings = map[shardKey]*packetSet{}
		}
		holdings[key] = &packetSet{holdingOf(c.Layout(), shard, moves).Numbers}
	}
	return holdings, nil
}

// ofShard parts the packets that a shard asks to give back into those that it can have, and others.
func (b *batch) ofShard(ref rain.EntryRef, asked rain.Numbers) (own, foreign rain.Numbers) {
	holds := b.holdings[shardKey{ref.Campaign, ref.Shard}]
	if holds == nil {
		return nil, asked
	}
	foreign = holds.without(asked)
	if len(foreign) == 0 {
		return slices.Clone(asked), nil
	}
	return (&packetSet{foreign}).without(asked), foreign
}
