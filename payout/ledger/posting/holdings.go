package posting

import (
	"context"
	"fmt"
	"slices"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// A closing seal covers campaign, shard and time, because only Redis knows the remaining numbers. So the numbers of a
// reclaim are compared with the moves in the ledger. A move's row is written before its packets arrive, so a shard
// never has more than the moves say.

// readHoldings reads the packets that the shards with reclaims in the entries can have.
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
			return nil, fmt.Errorf("read the moves of shard %d of campaign %s: %w", shard, c.ID, err)
		}
		if holdings == nil {
			holdings = map[shardKey]*packetSet{}
		}
		holdings[key] = &packetSet{holdingOf(c.Layout(), shard, moves).Numbers}
	}
	return holdings, nil
}

// ofShard splits the packets of a reclaim into those that its shard can have, and others.
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
